package miniapitest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If a webhook that Start has installed would not be called, Start fails.
func TestWebhooksThatWouldNotBeCalled(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	// configuration returns the manifest of one webhook that refuses config maps.
	configuration := func(file, kind, webhook string) string {
		path := filepath.Join(files, file)
		if err := os.WriteFile(path, []byte(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: refuse}
webhooks:
- name: %s.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: hooks, name: hooks, path: /refuse}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`, kind, webhook)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	validating := configuration("validating.yaml", "ValidatingWebhookConfiguration", "one")
	mutating := configuration("mutating.yaml", "MutatingWebhookConfiguration", "one")
	replacing := configuration("replacing.yaml", "ValidatingWebhookConfiguration", "two")
	without := miniapitest.WithoutAdmissionPlugins
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		want         string // in the error; if empty, there is none
	}{
		{"validating", "its plugin is off", []miniapitest.Option{without("ValidatingAdmissionWebhook"), miniapitest.WithWebhookManifests(validating)},
			`validating.yaml, document 1: ValidatingWebhookConfiguration refuse: its webhooks would not be called: admission plugin "ValidatingAdmissionWebhook" is off`},
		{"mutating", "its plugin is off, though the option comes later", []miniapitest.Option{miniapitest.WithWebhookManifests(mutating), without("MutatingAdmissionWebhook")},
			`admission plugin "MutatingAdmissionWebhook" is off`},
		{"mutating alone off", "the other plugin calls it", []miniapitest.Option{without("MutatingAdmissionWebhook"), miniapitest.WithWebhookManifests(validating)}, ""},
		{"manifests", "they are configurations alike", []miniapitest.Option{without("ValidatingAdmissionWebhook"), miniapitest.WithWebhookService("hooks", "hooks"), miniapitest.WithManifests(validating)},
			`admission plugin "ValidatingAdmissionWebhook" is off`},
		{"flag", "a list of all plugins hasn't this one", []miniapitest.Option{miniapitest.WithWebhookManifests(validating),
			miniapitest.WithFlags("--admission-control=NamespaceLifecycle")},
			`admission plugin "ValidatingAdmissionWebhook" is off`},
		{"two of a name", "the second takes the place of the first", []miniapitest.Option{miniapitest.WithWebhookManifests(validating, replacing)},
			"replacing.yaml, document 1: ValidatingWebhookConfiguration refuse: it would replace the one in"},
		{"two of a name, in two options", "it is the same", []miniapitest.Option{miniapitest.WithWebhookManifests(validating), miniapitest.WithWebhookManifests(replacing)},
			"it would replace the one in"},
		{"two of a name and kinds", "they are two objects", []miniapitest.Option{miniapitest.WithWebhookManifests(validating, mutating)}, ""},
		{"the same again", "a folder and a file of it may both be named", []miniapitest.Option{miniapitest.WithWebhookManifests(validating, validating)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			refuse := miniapitest.WithWebhook("/refuse", miniapitest.AdmissionHandler(func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return miniapitest.Denied("no")
			}))
			srv, err := miniapitest.New(t.Context(), append(test.options, refuse)...)
			if err == nil {
				if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("refused"), metav1.CreateOptions{}); err == nil {
					t.Error("want the webhook to be called")
				}
				_ = srv.Stop()
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
}
