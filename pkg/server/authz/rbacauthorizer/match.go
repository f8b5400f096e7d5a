package rbacauthorizer

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// RulesAllow tells whether one of the rules allows the request.
func RulesAllow(request authorizer.Attributes, rules ...rbacv1.PolicyRule) bool {
	for i := range rules {
		if ruleAllows(request, &rules[i]) {
			return true
		}
	}
	return false
}

// ruleAllows tells whether the rule allows the request.
func ruleAllows(request authorizer.Attributes, rule *rbacv1.PolicyRule) bool {
	if !has(rule.Verbs, request.GetVerb(), rbacv1.VerbAll) {
		return false
	}
	if !request.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return urlMatches(url, request.GetPath()) })
	}
	return has(rule.APIGroups, request.GetAPIGroup(), rbacv1.APIGroupAll) &&
		slices.ContainsFunc(rule.Resources, func(resource string) bool {
			return resourceMatches(resource, request.GetResource(), request.GetSubresource())
		}) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, request.GetName()))
}

func has(values []string, value, all string) bool {
	return slices.Contains(values, all) || slices.Contains(values, value)
}

// resourceMatches supports four forms of a rule. "*" matches every resource and every subresource. "*/scale" matches
// the subresource scale of every resource. "pods" matches the resource, but not its subresources. "pods/log" matches
// one subresource of one resource.
func resourceMatches(rule, resource, subresource string) bool {
	if subresource == "" {
		return rule == rbacv1.ResourceAll || rule == resource
	}
	return rule == rbacv1.ResourceAll || rule == resource+"/"+subresource || rule == "*/"+subresource
}

// urlMatches tells whether a path matches the URL of a rule. A URL with "*" at its end matches all paths that begin
// with the rest.
func urlMatches(rule, path string) bool {
	if prefix, ok := strings.CutSuffix(rule, "*"); ok {
		return strings.HasPrefix(path, strings.TrimRight(prefix, "*"))
	}
	return rule == path
}
