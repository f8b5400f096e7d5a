package main

import (
	"testing"

	"k8s.io/client-go/kubernetes"
)

// TestCBOR has the feature gate CBORServingAndStorage beside other flags.
func TestCBOR(t *testing.T) {
	t.Parallel()
	const gate = "--feature-gates=CBORServingAndStorage=true"
	for _, test := range []struct {
		name, reason string
		args         []string
		want         bool
	}{
		{"default", "kube-apiserver has it off", nil, false},
		{"gate", "who asks for it gets it", []string{gate}, true},
		{"with versions", "which versions there are is checked before gates are set", []string{"--runtime-config=batch/v1beta1=true", gate}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, config := serve(t, test.args...)
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.RESTClient().Get().AbsPath("/api/v1/namespaces/default").SetHeader("Accept", "application/cbor").DoRaw(t.Context())
			if got := err == nil; got != test.want {
				t.Errorf("%s: a namespace in CBOR: %t (%v), want %t", test.reason, got, err, test.want)
			}
		})
	}
}
