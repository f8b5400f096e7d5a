package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// resourceQuotaKind is the row of resourcequotas in the server's table of kinds.
var resourceQuotaKind = registry.Kind{
	Resource:   "resourcequotas",
	ShortNames: []string{"quota"},
	Namespaced: true,
	Object:     &corev1.ResourceQuota{}, List: &corev1.ResourceQuotaList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultResourceQuota)},
	Status:        true,
	ReturnDeleted: true,
	Printer:       &resourceQuotaColumns,
	Hooks: registry.HooksOf[*corev1.ResourceQuota]{
		Validate:             validateResourceQuota,
		ValidateUpdate:       validateResourceQuotaUpdate,
		ValidateStatusUpdate: validateResourceQuotaStatusUpdate,
		Warnings:             resourceQuotaWarnings,
	},
}

func defaultResourceQuota(q *corev1.ResourceQuota) {
	for _, list := range []corev1.ResourceList{q.Spec.Hard, q.Status.Hard, q.Status.Used} {
		defaults.ResourceList(list)
	}
}

// validateResourceQuota checks a new quota.
func validateResourceQuota(o *corev1.ResourceQuota) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(quotaSpec(&o.Spec), quotaStatus(o))
	return f.Errs
}

func validateResourceQuotaUpdate(o, old *corev1.ResourceQuota) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(quotaSpec(&o.Spec))
	f.AddIf(!sets.New(o.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)),
		field.Invalid(field.NewPath("spec", "scopes"), o.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	return f.Errs
}

// validateResourceQuotaStatusUpdate checks the status of a quota, which has the usage.
func validateResourceQuotaStatusUpdate(o, old *corev1.ResourceQuota) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.ResourceVersion == "", field.Required(field.NewPath("resourceVersion"), ""))
	f.Merge(quotaStatus(o))
	return f.Errs
}

func quotaStatus(o *corev1.ResourceQuota) field.ErrorList {
	return append(quotaAmounts(field.NewPath("status", "hard"), o.Status.Hard),
		quotaAmounts(field.NewPath("status", "used"), o.Status.Used)...)
}

func quotaAmounts(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var f validation.Findings
	for name, amount := range validation.Sorted(list) {
		path := path.Key(string(name))
		f.Merge(validation.ResourceName(path, name))
		f.AddIf(!validation.IsQualifiedResource(name) && !isQuotaResource(name), field.Invalid(path, name, "must be a standard resource for quota"))
		f.Merge(validation.ResourceQuantity(path, name, amount))
	}
	return f.Errs
}

var (
	quotaOfPods    = sets.New(corev1.ResourcePods)
	quotaOfCompute = sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory)
	quotaOfClaims = sets.New(corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage)
	// quotaOfOthers are the counted objects, such as services, and the amounts of storage that a quota can limit.
	quotaOfOthers = validation.CountedResources.Union(sets.New(corev1.ResourceEphemeralStorage, corev1.ResourceRequestsStorage,
		corev1.ResourceRequestsEphemeralStorage, corev1.ResourceLimitsEphemeralStorage))
)

func isQuotaResource(name corev1.ResourceName) bool {
	return quotaOfCompute.Has(name) || quotaOfOthers.Has(name) || validation.IsHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// quotaScopes maps each scope to the resources of isQuotaResource that a quota with the scope can limit. A quota with
// any scope can limit other resources, such as requests.example.com/gpu.
var quotaScopes = map[corev1.ResourceQuotaScope]sets.Set[corev1.ResourceName]{
	corev1.ResourceQuotaScopeTerminating:               quotaOfPods.Union(quotaOfCompute),
	corev1.ResourceQuotaScopeNotTerminating:            quotaOfPods.Union(quotaOfCompute),
	corev1.ResourceQuotaScopeNotBestEffort:             quotaOfPods.Union(quotaOfCompute),
	corev1.ResourceQuotaScopePriorityClass:             quotaOfPods.Union(quotaOfCompute),
	corev1.ResourceQuotaScopeCrossNamespacePodAffinity: quotaOfPods.Union(quotaOfCompute),
	corev1.ResourceQuotaScopeBestEffort:                quotaOfPods,
	corev1.ResourceQuotaScopeVolumeAttributesClass:     quotaOfClaims,
}

func quotaSpec(spec *corev1.ResourceQuotaSpec) field.ErrorList {
	path := field.NewPath("spec")
	f := validation.Findings{Errs: quotaAmounts(path.Child("hard"), spec.Hard)}
	scopes := sets.New[corev1.ResourceQuotaScope]()
	limits := func(scope corev1.ResourceQuotaScope, unsupported, unfit *field.Error) {
		possible, known := quotaScopes[scope]
		f.AddIf(!known, unsupported)
		for name := range spec.Hard {
			f.AddIf(known && isQuotaResource(name) && !possible.Has(name), unfit)
		}
		scopes.Insert(scope)
	}
	conflict := func(at *field.Path) {
		for _, pair := range [][]corev1.ResourceQuotaScope{
			{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
			{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
		} {
			f.AddIf(scopes.HasAll(pair...), field.Invalid(at, spec.Scopes, "conflicting scopes"))
		}
		scopes = sets.New[corev1.ResourceQuotaScope]()
	}
	at := path.Child("scopes")
	for _, scope := range spec.Scopes {
		limits(scope, field.Invalid(at, spec.Scopes, "unsupported scope"),
			field.Invalid(at, spec.Scopes, "unsupported scope applied to resource"))
	}
	conflict(at)
	if spec.ScopeSelector == nil {
		return f.Errs
	}
	at = path.Child("scopeSelector", "matchExpressions")
	shown := validation.Unversioned(spec.ScopeSelector)
	for _, r := range spec.ScopeSelector.MatchExpressions {
		limits(r.ScopeName, field.Invalid(at.Child("scopeName"), r.ScopeName, "unsupported scope"),
			field.Invalid(at, shown, "unsupported scope applied to resource"))
		f.Merge(quotaRequirement(at, &r))
	}
	conflict(at)
	return f.Errs
}

func quotaRequirement(at *field.Path, r *corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	var f validation.Findings
	operator, values := at.Child("operator"), at.Child("values")
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating,
		corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		f.AddIf(r.Operator != corev1.ScopeSelectorOpExists, field.Invalid(operator, r.Operator,
			"must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "+
				"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		f.AddIf(len(r.Values) == 0, field.Required(values,
			"must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		f.AddIf(len(r.Values) != 0, field.Invalid(values, r.Values,
			"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
	default:
		f.Add(field.Invalid(operator, r.Operator, "not a valid selector operator"))
	}
	return f.Errs
}

// resourceQuotaWarnings warns of a new quota that lets pods request more of a resource than their limits may add up to.
func resourceQuotaWarnings(_ context.Context, q, old *corev1.ResourceQuota) []string {
	if old != nil {
		return nil
	}
	var l warnings.List
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage,
	} {
		requests, limits := "requests."+name, "limits."+name
		request, requested := q.Spec.Hard[requests]
		// For a quota, cpu and requests.cpu are the same, and so are memory and requests.memory.
		if !requested && validation.ComputeResources.Has(name) {
			requests = name
			request, requested = q.Spec.Hard[requests]
		}
		if limit, limited := q.Spec.Hard[limits]; requested && limited && request.Cmp(limit) > 0 {
			l.Add(fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", requests, request.String(), limits, limit.String()))
		}
	}
	return l
}

// resourceQuotaColumns makes the rows of kubectl get. They show the used and the allowed amounts. Limits are in a
// column of their own.
var resourceQuotaColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
		printers.Text("Limit",
			"Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."),
		printers.AgeColumn,
	},
	func(q *corev1.ResourceQuota) []any {
		var requests, limits []string
		for _, resource := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			used, hard := q.Status.Used[resource], q.Status.Hard[resource]
			entry := fmt.Sprintf("%s: %s/%s", resource, used.String(), hard.String())
			if strings.HasPrefix(string(resource), "limits.") {
				limits = append(limits, entry)
			} else {
				requests = append(requests, entry)
			}
		}
		return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), printers.Since(q.CreationTimestamp)}
	})
