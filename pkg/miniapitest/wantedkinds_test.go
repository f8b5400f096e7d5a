package miniapitest_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An object that is nearly of the wanted kinds is an error.
func TestNearlyWantedKinds(t *testing.T) {
	t.Parallel()
	const (
		whole      = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: whole}\nwebhooks: []\n"
		policy     = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: other}\n"
		nearly     = "---\nmetadata: {name: nearly}\nwebhooks: []\nspec: {group: a, names: {}}\n"
		definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: b.a}\nspec: {group: a, names: {}}\n"
	)
	configurations := func(content string) miniapitest.Option {
		return miniapitest.WithWebhookManifestsFS(fstest.MapFS{"config/all.yaml": {Data: []byte(content)}}, "config")
	}
	definitions := func(content string) miniapitest.Option {
		return miniapitest.WithCRDsFS(fstest.MapFS{"config/all.yaml": {Data: []byte(content)}}, "config")
	}
	for _, test := range []struct {
		name, reason string
		option       miniapitest.Option
		want         string
	}{
		{
			"configuration's kind", "the group has no such kind",
			configurations(whole + nearly + "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfig\n"),
			"all.yaml, document 2: ValidatingWebhookConfig nearly of admissionregistration.k8s.io/v1: must be MutatingWebhookConfiguration or ValidatingWebhookConfiguration of admissionregistration.k8s.io",
		},
		{
			"configuration's group", "no other group has the kind",
			configurations(whole + nearly + "apiVersion: admissionregistration/v1\nkind: ValidatingWebhookConfiguration\n"),
			"all.yaml, document 2: ValidatingWebhookConfiguration nearly of admissionregistration/v1: must be ",
		},
		{"policy", "it is of the group, and passed over", configurations(policy), "no webhook configuration in"},
		{
			"definition's kind", "the group has no such kind",
			definitions(definition + nearly + "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinitions\n"),
			"all.yaml, document 2: CustomResourceDefinitions nearly of apiextensions.k8s.io/v1: must be CustomResourceDefinition of apiextensions.k8s.io",
		},
		{
			"definition's group", "no other group has the kind",
			definitions(definition + nearly + "apiVersion: apiextension.k8s.io/v1\nkind: CustomResourceDefinition\n"),
			"all.yaml, document 2: CustomResourceDefinition nearly of apiextension.k8s.io/v1: must be ",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), test.option)
			if err == nil {
				_ = srv.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
}
