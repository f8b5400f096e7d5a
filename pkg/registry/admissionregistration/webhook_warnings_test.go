package admissionregistration

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestWebhookRules(t *testing.T) {
	t.Parallel()
	var served []ServedResource
	for gv, names := range map[schema.GroupVersion][]string{
		{Version: "v1"}:                           {"pods", "pods/status", "pods/exec"},
		{Group: "apps", Version: "v1"}:            {"deployments", "deployments/scale"},
		{Group: "example.com", Version: "v1"}:     {"widgets"},
		{Group: "metrics.example", Version: "v1"}: {AnyResource},
	} {
		for _, name := range names {
			served = append(served, ServedResource{GroupVersion: gv, Name: name})
		}
	}
	list := func(names ...string) []string { return names }
	const notCalled = ": the webhook isn't called for it"
	for _, test := range []struct {
		name, reason                string
		groups, versions, resources []string
		want                        []string
	}{
		{"served", "there is nothing to warn of", list(""), list("v1"), list("pods", "pods/exec"), nil},
		{"one of several groups", "each resource is in one of the groups", list("", "apps"), list("v1"), list("pods", "deployments"), nil},
		{"one of several versions", "a rule may name versions that are served elsewhere", list("apps"),
			list("v1", "v1beta1"), list("deployments"), nil},
		{"everything", "wildcards match something", list("*"), list("*"), list("*/*"), nil},
		{"every resource", "wildcards match something", list("apps"), list("*"), list("*"), nil},
		{"every subresource of a resource", "pods have subresources", list(""), list("v1"), list("pods/*"), nil},
		{"a subresource of every resource", "deployments have the subresource scale", list("*"), list("v1"), list("*/scale"), nil},
		{"another server's resource", "the resources of another server are unknown", list("metrics.example"),
			list("v1"), list("nodes"), nil},
		{
			"group", "a mistyped group has no requests, and its resources are of no interest", list("exmaple.com"),
			list("v1"), list("widgets", "gadgets"),
			list(`webhooks[0].rules[0].apiGroups[0]: nothing serves group "exmaple.com"` + notCalled),
		},
		{
			"one group of two", "the other may have the resource", list("apps", "exmaple.com"), list("v1"), list("deployments"),
			list(`webhooks[0].rules[0].apiGroups[1]: nothing serves group "exmaple.com"` + notCalled),
		},
		{
			"resource", "the plural is meant", list("apps", ""), list("v1"), list("deployment", "pods"),
			list(`webhooks[0].rules[0].resources[0]: nothing serves "deployment" in apps/v1, v1` + notCalled),
		},
		{
			"resource of another group", "the core group is the empty one", list("apps"), list("*"), list("pods"),
			list(`webhooks[0].rules[0].resources[0]: nothing serves "pods" in apps/*` + notCalled),
		},
		{
			"resource of any group", "no group has it", list("*"), list("v2"), list("gadgets"),
			list(`webhooks[0].rules[0].resources[0]: nothing serves "gadgets" in */v2` + notCalled),
		},
		{
			"version", "the resource is in no such version", list("apps"), list("v2"), list("*"),
			list(`webhooks[0].rules[0].resources[0]: nothing serves "*" in apps/v2` + notCalled),
		},
		{
			"subresource", "widgets have none", list("example.com"), list("v1"), list("widgets/status", "widgets/*", "*/status"),
			list(`webhooks[0].rules[0].resources[0]: nothing serves "widgets/status" in example.com/v1`+notCalled,
				`webhooks[0].rules[0].resources[2]: nothing serves "*/status" in example.com/v1`+notCalled),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rules := []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: test.groups, APIVersions: test.versions, Resources: test.resources}}}
			got := webhookRulesWarnings(field.NewPath("webhooks").Index(0), rules, slices.Values(served))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestWebhookRulesEndEarly checks that the search for served resources ends when all resources of the rules are
// found. The resources of aggregated servers come last. A search that ends early doesn't need these resources.
func TestWebhookRulesEndEarly(t *testing.T) {
	t.Parallel()
	rules := []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}}
	seen := 0
	webhookRulesWarnings(field.NewPath("webhooks").Index(0), rules, func(yield func(ServedResource) bool) {
		for _, name := range []string{"nodes", "pods", "services"} {
			seen++
			if !yield(ServedResource{GroupVersion: schema.GroupVersion{Version: "v1"}, Name: name}) {
				return
			}
		}
	})
	if seen != 2 {
		t.Errorf("want the search to end at the second of three resources, got %d", seen)
	}
}

func TestHiddenResources(t *testing.T) {
	t.Parallel()
	list := func(names ...string) []string { return names }
	hides := func(r schema.GroupResource) bool {
		return r.Group == "authentication.k8s.io" && r.Resource == "tokenreviews"
	}
	const warning = "webhooks[0].rules[0]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule will have no effect"
	for _, test := range []struct {
		name, reason      string
		groups, resources []string
		want              []string
	}{
		{"named", "the rule is meant for the resource", list("", "authentication.k8s.io"), list("pods", "tokenreviews"), list(warning)},
		{"named twice", "one warning is enough", list("authentication.k8s.io"), list("tokenreviews", "tokenreviews"), list(warning)},
		{"another", "webhooks get other resources", list("authentication.k8s.io"), list("selfsubjectreviews"), nil},
		{"any resource", "the wildcard can be meant for other resources", list("authentication.k8s.io"), list("tokenreviews", "*"), nil},
		{"any group", "the wildcard can be meant for other groups", list("*"), list("tokenreviews"), nil},
		{"any subresource", "kube-apiserver compares names, and doesn't warn", list("authentication.k8s.io"), list("tokenreviews/*"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rules := []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: test.groups, APIVersions: list("*"), Resources: test.resources}}}
			if diff := cmp.Diff(test.want, hiddenResourceWarnings(field.NewPath("webhooks").Index(0), rules, hides)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
