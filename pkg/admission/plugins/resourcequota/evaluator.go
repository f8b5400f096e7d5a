package resourcequota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/admission"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// rules say how a quota counts the objects of a kind. A kind has no rules if a quota counts only the number of its
// objects.
type rules struct {
	// counts reports whether objects of the kind can use a resource of a quota, such as requests.cpu.
	counts func(corev1.ResourceName) bool
	// handles reports whether the plugin evaluates a request. It is true for a creation, and for an update that may
	// change the usage of the object or the scopes that cover it. As in kube-apiserver, it is also true for each update
	// of a resource claim.
	handles func(admission.Attributes) bool
	// constraints returns an error if an object lacks a field that its quotas need. If constraints is nil, no field
	// is needed.
	constraints func(required []corev1.ResourceName, object runtime.Object) error
	// scope reports whether a scope of a quota covers an object. If scope is nil, the kind has no scopes.
	scope generic.MatchesScopeFunc
	// usage returns how much of a quota's resources an object uses.
	usage generic.UsageFunc
}

// evaluator implements quota.Evaluator for a kind, by its rules.
type evaluator struct {
	rules
	resource schema.GroupVersionResource
	lister   quota.ListerForResourceFunc
}

var _ quota.Evaluator = &evaluator{}

// GroupResource implements quota.Evaluator.
func (e *evaluator) GroupResource() schema.GroupResource { return e.resource.GroupResource() }

// Handles implements quota.Evaluator.
func (e *evaluator) Handles(a admission.Attributes) bool { return e.handles(a) }

// Usage implements quota.Evaluator.
func (e *evaluator) Usage(object runtime.Object) (corev1.ResourceList, error) { return e.usage(object) }

// Constraints implements quota.Evaluator.
func (e *evaluator) Constraints(required []corev1.ResourceName, object runtime.Object) error {
	if e.constraints == nil {
		return nil
	}
	return e.constraints(required, object)
}

// MatchingResources implements quota.Evaluator.
func (e *evaluator) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return slices.DeleteFunc(slices.Clone(names), func(name corev1.ResourceName) bool { return !e.counts(name) })
}

// Matches implements quota.Evaluator.
func (e *evaluator) Matches(resourceQuota *corev1.ResourceQuota, object runtime.Object) (bool, error) {
	return generic.Matches(resourceQuota, object, e.MatchingResources, e.inScope)
}

// MatchingScopes implements quota.Evaluator.
func (e *evaluator) MatchingScopes(object runtime.Object, scopes []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	matching := []corev1.ScopedResourceSelectorRequirement{}
	for _, scope := range scopes {
		matches, err := e.inScope(scope, object)
		if err != nil {
			return nil, fmt.Errorf("error on matching scope %v: %w", scope, err)
		}
		if matches {
			matching = append(matching, scope)
		}
	}
	return matching, nil
}

// UncoveredQuotaScopes implements quota.Evaluator.
func (e *evaluator) UncoveredQuotaScopes(limited, covered []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return slices.DeleteFunc(slices.Clone(limited), func(scope corev1.ScopedResourceSelectorRequirement) bool {
		return slices.ContainsFunc(covered, func(c corev1.ScopedResourceSelectorRequirement) bool { return c.ScopeName == scope.ScopeName })
	}), nil
}

// UsageStats implements quota.Evaluator.
func (e *evaluator) UsageStats(options quota.UsageStatsOptions) (quota.UsageStats, error) {
	return generic.CalculateUsageStats(options, generic.ListResourceUsingListerFunc(e.lister, e.resource), e.inScope, e.usage)
}

func (e *evaluator) inScope(scope corev1.ScopedResourceSelectorRequirement, object runtime.Object) (bool, error) {
	if e.scope == nil {
		return false, nil
	}
	return e.scope(scope, object)
}

// selectorOperators maps the operators of scope selectors to the operators of label selectors.
var selectorOperators = map[corev1.ScopeSelectorOperator]selection.Operator{
	corev1.ScopeSelectorOpIn:           selection.In,
	corev1.ScopeSelectorOpNotIn:        selection.NotIn,
	corev1.ScopeSelectorOpExists:       selection.Exists,
	corev1.ScopeSelectorOpDoesNotExist: selection.DoesNotExist,
}

// selects reports whether the selector of a scope matches one of the names to which an object refers. As in label
// selectors, the operators NotIn and DoesNotExist match an object without names.
func selects(scope corev1.ScopedResourceSelectorRequirement, names []string) (bool, error) {
	operator, ok := selectorOperators[scope.Operator]
	if !ok {
		return false, fmt.Errorf("failed to parse and convert selector: %q is not a valid scope selector operator", scope.Operator)
	}
	requirement, err := labels.NewRequirement(string(scope.ScopeName), operator, scope.Values)
	if err != nil {
		return false, fmt.Errorf("failed to parse and convert selector: %w", err)
	}
	if len(names) == 0 {
		return requirement.Matches(labels.Set{}), nil
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return requirement.Matches(labels.Set{string(scope.ScopeName): name})
	}), nil
}

// as converts an object to the Go type of the kind.
func as[Object runtime.Object](object runtime.Object) (Object, error) {
	typed, ok := object.(Object)
	if !ok {
		return typed, fmt.Errorf("expect %T, got %v", typed, object)
	}
	return typed, nil
}
