package miniapitest_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A field of the wrong type is an error that names the field, before the server starts.
func TestClientConfigTypes(t *testing.T) {
	t.Parallel()
	const (
		configuration = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: "
		definition    = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\nspec: {group: a, names: {}, conversion: CONVERSION}\n"
	)
	for _, test := range []struct{ name, reason, manifest, want string }{
		{"namespace", "n is a boolean in YAML 1.1", configuration + "[{name: b.example.com, clientConfig: {service: {namespace: n, name: c}}}]",
			"ValidatingWebhookConfiguration a: webhooks.clientConfig.service.namespace must be a string, in quotes if YAML reads another type, but is bool"},
		{"port", "a name is for a Service's", configuration + "[{name: b.example.com, clientConfig: {service: {namespace: d, name: c, port: https}}}]",
			"webhooks.clientConfig.service.port must be a number, but is string"},
		{"service", "it has a namespace and a name", configuration + "[{name: b.example.com, clientConfig: {service: c}}]",
			"webhooks.clientConfig.service must be an object, but is string"},
		{"webhooks", "there may be several", configuration + "b", "webhooks must be an array, but is string"},
		{"conversion", "a definition may have a webhook", strings.Replace(definition, "CONVERSION", "{webhook: {clientConfig: {url: 7}}}", 1),
			"CustomResourceDefinition as.example.com: spec.conversion.webhook.clientConfig.url must be a string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{"a.yaml": &fstest.MapFile{Data: []byte(test.manifest)}}
			srv, err := miniapitest.New(t.Context(), miniapitest.WithManifestsFS(files, "a.yaml"))
			if err == nil {
				_ = srv.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), "a.yaml, document 1: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
}
