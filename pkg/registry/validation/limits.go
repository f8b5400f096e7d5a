package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LimitRange checks a new limit range.
func LimitRange(o *corev1.LimitRange) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	var types []corev1.LimitType
	for i := range o.Spec.Limits {
		path := field.NewPath("spec", "limits").Index(i)
		item := &o.Spec.Limits[i]
		f.Merge(limitType(path.Child("type"), item.Type))
		f.AddIf(slices.Contains(types, item.Type), field.Duplicate(path.Child("type"), item.Type))
		types = append(types, item.Type)
		f.Merge(limitItem(path, item))
	}
	return f.Errs
}

// LimitRangeUpdate checks a limit range that replaces another.
func LimitRangeUpdate(o, _ *corev1.LimitRange) field.ErrorList { return LimitRange(o) }

func limitType(path *field.Path, t corev1.LimitType) field.ErrorList {
	if errs := Qualified(path, string(t)); len(errs) > 0 {
		return errs
	}
	known := []corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}
	if !strings.Contains(string(t), "/") && !slices.Contains(known, t) {
		return field.ErrorList{field.Invalid(path, t, "must be a standard limit type or fully qualified")}
	}
	return nil
}

func limitItem(path *field.Path, item *corev1.LimitRangeItem) field.ErrorList {
	var f Findings
	names := sets.New[corev1.ResourceName]()
	ofPods := item.Type == corev1.LimitTypePod
	check := func(name string, list corev1.ResourceList) {
		for resource := range Sorted(list) {
			rule := ResourceName
			if ofPods || item.Type == corev1.LimitTypeContainer {
				rule = ContainerResourceName
			}
			f.Merge(rule(path.Child(name).Key(string(resource)), resource))
			names.Insert(resource)
		}
	}
	defaults, requests := item.Default, item.DefaultRequest
	check("max", item.Max)
	check("min", item.Min)
	if ofPods {
		const msg = "may not be specified when `type` is 'Pod'"
		f.AddIf(len(defaults) > 0, field.Forbidden(path.Child("default"), msg))
		f.AddIf(len(requests) > 0, field.Forbidden(path.Child("defaultRequest"), msg))
		defaults, requests = nil, nil
	} else {
		check("default", defaults)
		check("defaultRequest", requests)
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, hasMin := item.Min[corev1.ResourceStorage]
		_, hasMax := item.Max[corev1.ResourceStorage]
		f.AddIf(!hasMin && !hasMax, field.Required(path.Child("limits"),
			"either minimum or maximum storage value is required, but neither was provided"))
	}
	check("maxLimitRequestRatio", item.MaxLimitRequestRatio)

	// ordered checks that one amount is no greater than another, where both are given;
	// the error is on the list of the given name, and shows the given amount.
	ordered := func(resource corev1.ResourceName, less, more corev1.ResourceList, what, than, name string, shown corev1.ResourceList) {
		a, hasA := less[resource]
		b, hasB := more[resource]
		f.AddIf(hasA && hasB && a.Cmp(b) > 0, field.Invalid(path.Child(name).Key(string(resource)), shown[resource],
			fmt.Sprintf("%s value %s is greater than %s value %s", what, a.String(), than, b.String())))
	}
	for _, k := range sets.List(names) {
		ordered(k, item.Min, item.Max, "min", "max", "min", item.Min)
		ordered(k, item.Min, requests, "min", "default request", "defaultRequest", requests)
		ordered(k, requests, item.Max, "default request", "max", "defaultRequest", requests)
		ordered(k, requests, defaults, "default request", "default limit", "defaultRequest", requests)
		ordered(k, item.Min, defaults, "min", "default", "default", item.Min)
		ordered(k, defaults, item.Max, "default", "max", "default", item.Max)
		f.Merge(limitRatio(path.Child("maxLimitRequestRatio").Key(string(k)), k, item))

		def, hasDefault := defaults[k]
		request, hasRequest := requests[k]
		f.AddIf(!IsOvercommittable(k) && hasDefault && hasRequest && def.Cmp(request) != 0,
			field.Invalid(path.Child("defaultRequest").Key(string(k)), request,
				fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", def.String(), request.String(), k)))
	}
	return f.Errs
}

// limitRatio checks that limits may exceed requests by a possible factor.
func limitRatio(path *field.Path, name corev1.ResourceName, item *corev1.LimitRangeItem) field.ErrorList {
	ratio, ok := item.MaxLimitRequestRatio[name]
	if !ok {
		return nil
	}
	var f Findings
	f.AddIf(ratio.Cmp(resource.MustParse("1")) < 0, field.Invalid(path, ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	least, hasLeast := item.Min[name]
	most, hasMost := item.Max[name]
	if !hasLeast || !hasMost {
		return f.Errs
	}
	factor, a, b := float64(ratio.Value()), least.Value(), most.Value()
	if max(ratio.Value(), a, b) < resource.MaxMilliValue {
		factor, a, b = float64(ratio.MilliValue())/1000, least.MilliValue(), most.MilliValue()
	}
	possible := float64(b) / float64(a)
	f.AddIf(factor > possible, field.Invalid(path, ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), possible)))
	return f.Errs
}

// ResourceQuota checks a new quota.
func ResourceQuota(o *corev1.ResourceQuota) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(quotaSpec(&o.Spec), quotaStatus(o))
	return f.Errs
}

// ResourceQuotaUpdate checks a quota that replaces another.
func ResourceQuotaUpdate(o, old *corev1.ResourceQuota) field.ErrorList {
	f := Findings{ResourceQuota(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, quotaSpec(&o.Spec))
	f.AddIf(!sets.New(o.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)),
		field.Invalid(field.NewPath("spec", "scopes"), o.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	return f.Errs
}

// ResourceQuotaStatusUpdate checks what a quota says is used.
func ResourceQuotaStatusUpdate(o, old *corev1.ResourceQuota) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.ResourceVersion == "", field.Required(field.NewPath("resourceVersion"), ""))
	f.Merge(quotaStatus(o))
	return f.Errs
}

func quotaStatus(o *corev1.ResourceQuota) field.ErrorList {
	return append(quotaAmounts(field.NewPath("status", "hard"), o.Status.Hard),
		quotaAmounts(field.NewPath("status", "used"), o.Status.Used)...)
}

func quotaAmounts(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var f Findings
	for name, amount := range Sorted(list) {
		path := path.Key(string(name))
		f.Merge(ResourceName(path, name))
		f.AddIf(!IsQualifiedResource(name) && !isQuotaResource(name), field.Invalid(path, name, "must be a standard resource for quota"))
		f.Merge(ResourceQuantity(path, name, amount))
	}
	return f.Errs
}

var (
	quotaOfPods    = sets.New(corev1.ResourcePods)
	quotaOfCompute = sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory)
	quotaOfClaims = sets.New(corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage)
	// quotaOfOthers are the rest of what a quota can limit under an unqualified name.
	quotaOfOthers = CountedResources.Union(sets.New(corev1.ResourceEphemeralStorage, corev1.ResourceRequestsStorage,
		corev1.ResourceRequestsEphemeralStorage, corev1.ResourceLimitsEphemeralStorage))
)

func isQuotaResource(name corev1.ResourceName) bool {
	return quotaOfCompute.Has(name) || quotaOfOthers.Has(name) || IsHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// quotaScopes are the scopes, with what each can limit.
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
	f := Findings{quotaAmounts(path.Child("hard"), spec.Hard)}
	scopes := sets.New[corev1.ResourceQuotaScope]()
	limits := func(scope corev1.ResourceQuotaScope, unsupported, unfit *field.Error) {
		possible, known := quotaScopes[scope]
		f.AddIf(!known, unsupported)
		for name := range spec.Hard {
			f.AddIf(known && isQuotaResource(name) && !possible.Has(name), unfit)
		}
		scopes.Insert(scope)
	}
	conflict := func(at *field.Path, value any) {
		for _, pair := range [][]corev1.ResourceQuotaScope{
			{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
			{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
		} {
			f.AddIf(scopes.HasAll(pair...), field.Invalid(at, value, "conflicting scopes"))
		}
		scopes = sets.New[corev1.ResourceQuotaScope]()
	}
	at := path.Child("scopes")
	for _, scope := range spec.Scopes {
		limits(scope, field.Invalid(at, spec.Scopes, "unsupported scope"),
			field.Invalid(at, spec.Scopes, "unsupported scope applied to resource"))
	}
	conflict(at, spec.Scopes)
	if spec.ScopeSelector == nil {
		return f.Errs
	}
	at = path.Child("scopeSelector", "matchExpressions")
	shown := Unversioned(spec.ScopeSelector)
	for _, r := range spec.ScopeSelector.MatchExpressions {
		limits(r.ScopeName, field.Invalid(at.Child("scopeName"), r.ScopeName, "unsupported scope"),
			field.Invalid(at, shown, "unsupported scope applied to resource"))
		f.Merge(quotaRequirement(at, &r))
	}
	conflict(at, shown)
	return f.Errs
}

func quotaRequirement(at *field.Path, r *corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	var f Findings
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
