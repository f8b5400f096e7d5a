package main

import (
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
)

// Without the feature gate OpenAPIEnums, the OpenAPI documents list no values of fields.
func TestOpenAPIEnums(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		args         []string
		want         bool
	}{
		{"default", "kube-apiserver has the gate on by default", nil, true},
		{"off", "the gate is off", []string{"--feature-gates=OpenAPIEnums=false"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, config := serve(t, test.args...)
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/openapi/v2", "/openapi/v3/api/v1"} {
				document, err := client.RESTClient().Get().AbsPath(path).DoRaw(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Contains(string(document), `"enum":[`); got != test.want {
					t.Errorf("%s: %s has the values of enums: %t, want %t", test.reason, path, got, test.want)
				}
			}
		})
	}
}
