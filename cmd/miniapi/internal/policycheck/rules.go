package policycheck

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// rule checks that each resource of a rule is served in a group and a version of the rule, and with its scope and an
// operation of it.
func (c *checker) rule(i int, rule admissionregistrationv1.RuleWithOperations, field string) {
	for n, name := range rule.Resources {
		at := fmt.Sprintf("%s.resources[%d]", field, n)
		var named, versioned, scoped, operated bool
		for _, served := range c.served {
			if !isNamed(name, served) || !has(rule.APIGroups, served.Group) {
				continue
			}
			named = true
			if !has(rule.APIVersions, served.Version) {
				continue
			}
			versioned = true
			if !inScope(rule.Scope, served.Namespaced) {
				continue
			}
			scoped = true
			operated = operated || operates(rule.Operations, served)
		}
		switch {
		case !named:
			c.add(i, at, "%q can match nothing: the server has no such resource in the apiGroups %q%s", name, rule.APIGroups, c.elsewhere(name))
		case !versioned:
			c.add(i, at, "%q can match nothing: the server doesn't serve the resource in the apiVersions %q", name, rule.APIVersions)
		case !scoped:
			c.add(i, at, "%q can match nothing: the resource doesn't have the scope %s", name, *rule.Scope)
		case !operated:
			c.add(i, at, "%q can match nothing: the resource has none of the operations %q", name, rule.Operations)
		}
	}
}

// elsewhere says in which groups the server has a resource, or returns "".
func (c *checker) elsewhere(name string) string {
	groups := sets.New[string]()
	for _, served := range c.served {
		if isNamed(name, served) {
			groups.Insert(served.Group)
		}
	}
	if groups.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("; it has one in %q", sets.List(groups))
}

// Names reports whether a rule names a resource or a subresource, in any version.
func Names(rule admissionregistrationv1.Rule, of resources.Resource) bool {
	return has(rule.APIGroups, of.Group) && inScope(rule.Scope, of.Namespaced) &&
		slices.ContainsFunc(rule.Resources, func(name string) bool { return isNamed(name, of) })
}

// isNamed reports whether a name of a rule's resources names a resource or a subresource: pods, pods/exec, pods/*, */scale,
// * or */*.
func isNamed(name string, of resources.Resource) bool {
	resource, subresource, _ := strings.Cut(name, "/")
	if name == "*/*" {
		return true
	}
	return (resource == "*" || resource == of.Resource) && (subresource == of.Subresource || subresource == "*" && of.Subresource != "")
}

func has(values []string, value string) bool {
	return slices.Contains(values, "*") || slices.Contains(values, value)
}

func inScope(scope *admissionregistrationv1.ScopeType, namespaced bool) bool {
	return scope == nil || *scope == admissionregistrationv1.AllScopes || (*scope == admissionregistrationv1.NamespacedScope) == namespaced
}

func operates(operations []admissionregistrationv1.OperationType, of resources.Resource) bool {
	return slices.ContainsFunc(operations, func(operation admissionregistrationv1.OperationType) bool {
		if operation == admissionregistrationv1.OperationAll {
			return len(of.Operations()) > 0
		}
		for _, possible := range of.Operations() {
			if string(possible) == string(operation) {
				return true
			}
		}
		return false
	})
}

// contradiction says why no labels match a selector, or returns "". A selector that can't be parsed has been refused.
func contradiction(selector *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || selector == nil {
		return ""
	}
	requirements, _ := parsed.Requirements()
	byKey := map[string][]labels.Requirement{}
	for _, requirement := range requirements {
		byKey[requirement.Key()] = append(byKey[requirement.Key()], requirement)
	}
	for _, key := range sets.List(sets.KeySet(byKey)) {
		if !satisfiable(byKey[key]) {
			var all []string
			for _, requirement := range byKey[key] {
				all = append(all, requirement.String())
			}
			return "no value of the label " + key + " fulfils " + strings.Join(all, " and ")
		}
	}
	return ""
}

// satisfiable reports whether a value of one label, or its absence, fulfils all requirements.
func satisfiable(requirements []labels.Requirement) bool {
	key := requirements[0].Key()
	candidates := []labels.Set{{}, {key: "a value that no requirement names"}}
	for _, requirement := range requirements {
		for value := range requirement.Values() {
			candidates = append(candidates, labels.Set{key: value})
		}
		if operator := requirement.Operator(); operator == selection.GreaterThan || operator == selection.LessThan {
			return true // selectors of objects have no such operators
		}
	}
	return slices.ContainsFunc(candidates, func(candidate labels.Set) bool {
		return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return !r.Matches(candidate) })
	})
}
