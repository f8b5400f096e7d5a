package rbacauthorizer

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestRuleAllows(t *testing.T) {
	t.Parallel()

	resource := func(verb, group, resource, subresource, name string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{
			ResourceRequest: true, Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Name: name,
		}
	}
	url := func(verb, path string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{Verb: verb, Path: path}
	}
	rule := func(verbs, groups, resources []string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
	}
	urls := func(urls ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: urls}
	}
	get, core, all := []string{"get"}, []string{""}, []string{"*"}

	for _, test := range []struct {
		name    string
		rule    rbacv1.PolicyRule
		request authorizer.AttributesRecord
		want    bool
		reason  string
	}{
		{"exact", rule(get, core, []string{"pods"}), resource("get", "", "pods", "", "a"), true,
			"the rule names the verb, the group and the resource"},
		{"verb", rule(get, core, []string{"pods"}), resource("list", "", "pods", "", ""), false, "get is not list"},
		{"group", rule(get, core, []string{"pods"}), resource("get", "metrics.k8s.io", "pods", "", "a"), false,
			"the core group is not every group"},
		{"all", rule(all, all, all), resource("patch", "apps", "deployments", "scale", "a"), true, "* also matches subresources"},
		{"subresource of a resource", rule(get, core, []string{"pods"}), resource("get", "", "pods", "log", "a"), false,
			"pods doesn't match subresources"},
		{"subresource", rule(get, core, []string{"pods/log"}), resource("get", "", "pods", "log", "a"), true,
			"the rule names the subresource"},
		{"subresource without it", rule(get, core, []string{"pods/log"}), resource("get", "", "pods", "", "a"), false,
			"the subresource is not the resource"},
		{"scale of everything", rule(get, all, []string{"*/scale"}),
			resource("get", "apps", "deployments", "scale", "a"), true, "*/scale is the scale of every resource"},
		{"not every subresource", rule(get, all, []string{"*/scale"}),
			resource("get", "apps", "deployments", "status", "a"), false,
			"*/scale doesn't match the subresource status"},
		{"no such wildcard", rule(get, core, []string{"pods/*"}), resource("get", "", "pods", "log", "a"), false,
			"RBAC has no wildcard of the form pods/*"},
		{"name", rule(get, core, []string{"pods"}, "a", "b"), resource("get", "", "pods", "", "b"), true, "the rule has the name"},
		{"other name", rule(get, core, []string{"pods"}, "a"), resource("get", "", "pods", "", "b"), false,
			"the rule doesn't have the name"},
		{"without a name", rule(all, core, []string{"pods"}, "a"), resource("create", "", "pods", "", ""), false,
			"a create has no name that could be allowed"},
		{"url", urls("/healthz"), url("get", "/healthz"), true, "the rule names the URL"},
		{"url below", urls("/healthz"), url("get", "/healthz/etcd"), false, "only a rule with * matches URLs below a path"},
		{"url wildcard", urls("/apis/*"), url("get", "/apis/apps/v1"), true, "* at the end matches every rest"},
		{"url wildcard without slash", urls("/apis/*"), url("get", "/apis"), false, "the slash must be there"},
		{"url everything", urls("*"), url("get", "/metrics"), true, "* is every URL"},
		{"url verb", urls("*"), url("post", "/metrics"), false, "the verb must also match for URLs"},
		{"url is no resource", urls("*"), resource("get", "", "pods", "", "a"), false, "a resource is not a URL"},
		{"resource is no url", rule(all, all, all), url("get", "/metrics"), false, "a URL is not a resource"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := ruleAllows(test.request, &test.rule); got != test.want {
				t.Errorf("ruleAllows = %v, want %v: %s", got, test.want, test.reason)
			}
		})
	}
}
