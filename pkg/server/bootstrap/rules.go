package bootstrap

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// These are lists of verbs for rules.
const (
	read      = "get list watch"
	readWrite = "create delete deletecollection get list patch update watch"
	write     = "create delete deletecollection patch update"
)

// core stands for the API group without a name in the tables of roles.
const core = "core"

// allow returns a rule for resources. Each of the first three arguments is a list, separated by blanks. With names, the
// rule is for the objects of these names.
func allow(verbs, groups, resources string, names ...string) rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: words(verbs), APIGroups: words(groups), Resources: words(resources), ResourceNames: names}
	for i, group := range rule.APIGroups {
		if group == core {
			rule.APIGroups[i] = ""
		}
	}
	slices.Sort(rule.APIGroups)
	return rule
}

// paths returns a rule that allows GET requests for URL paths, separated by blanks.
func paths(urls string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: words(urls)}
}

func recordEvents() rbacv1.PolicyRule {
	return allow("create patch update", "core events.k8s.io", "events")
}

func words(list string) []string {
	sorted := strings.Fields(list)
	slices.Sort(sorted)
	return sorted
}
