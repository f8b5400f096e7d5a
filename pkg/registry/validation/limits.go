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
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	var types []corev1.LimitType
	for i := range o.Spec.Limits {
		path := field.NewPath("spec", "limits").Index(i)
		item := &o.Spec.Limits[i]
		f.merge(limitType(path.Child("type"), item.Type))
		f.addIf(slices.Contains(types, item.Type), field.Duplicate(path.Child("type"), item.Type))
		types = append(types, item.Type)
		f.merge(limitItem(path, item))
	}
	return f.errs
}

// LimitRangeUpdate checks a limit range that replaces another.
func LimitRangeUpdate(o, _ *corev1.LimitRange) field.ErrorList { return LimitRange(o) }

func limitType(path *field.Path, t corev1.LimitType) field.ErrorList {
	if errs := qualified(path, string(t)); len(errs) > 0 {
		return errs
	}
	known := []corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}
	if !strings.Contains(string(t), "/") && !slices.Contains(known, t) {
		return field.ErrorList{field.Invalid(path, t, "must be a standard limit type or fully qualified")}
	}
	return nil
}

func limitItem(path *field.Path, item *corev1.LimitRangeItem) field.ErrorList {
	var f findings
	names := sets.New[corev1.ResourceName]()
	ofPods := item.Type == corev1.LimitTypePod
	check := func(name string, list corev1.ResourceList) {
		for resource := range sorted(list) {
			rule := resourceName
			if ofPods || item.Type == corev1.LimitTypeContainer {
				rule = containerResourceName
			}
			f.merge(rule(path.Child(name).Key(string(resource)), resource))
			names.Insert(resource)
		}
	}
	defaults, requests := item.Default, item.DefaultRequest
	check("max", item.Max)
	check("min", item.Min)
	if ofPods {
		const msg = "may not be specified when `type` is 'Pod'"
		f.addIf(len(defaults) > 0, field.Forbidden(path.Child("default"), msg))
		f.addIf(len(requests) > 0, field.Forbidden(path.Child("defaultRequest"), msg))
		defaults, requests = nil, nil
	} else {
		check("default", defaults)
		check("defaultRequest", requests)
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, hasMin := item.Min[corev1.ResourceStorage]
		_, hasMax := item.Max[corev1.ResourceStorage]
		f.addIf(!hasMin && !hasMax, field.Required(path.Child("limits"),
			"either minimum or maximum storage value is required, but neither was provided"))
	}
	check("maxLimitRequestRatio", item.MaxLimitRequestRatio)

	// ordered checks that one amount is no greater than another, where both are given;
	// the error is on the list of the given name, and shows the given amount.
	ordered := func(resource corev1.ResourceName, less, more corev1.ResourceList, what, than, name string, shown corev1.ResourceList) {
		a, hasA := less[resource]
		b, hasB := more[resource]
		f.addIf(hasA && hasB && a.Cmp(b) > 0, field.Invalid(path.Child(name).Key(string(resource)), shown[resource],
			fmt.Sprintf("%s value %s is greater than %s value %s", what, a.String(), than, b.String())))
	}
	for _, k := range sets.List(names) {
		ordered(k, item.Min, item.Max, "min", "max", "min", item.Min)
		ordered(k, item.Min, requests, "min", "default request", "defaultRequest", requests)
		ordered(k, requests, item.Max, "default request", "max", "defaultRequest", requests)
		ordered(k, requests, defaults, "default request", "default limit", "defaultRequest", requests)
		ordered(k, item.Min, defaults, "min", "default", "default", item.Min)
		ordered(k, defaults, item.Max, "default", "max", "default", item.Max)
		f.merge(limitRatio(path.Child("maxLimitRequestRatio").Key(string(k)), k, item))

		def, hasDefault := defaults[k]
		request, hasRequest := requests[k]
		f.addIf(!isOvercommittable(k) && hasDefault && hasRequest && def.Cmp(request) != 0,
			field.Invalid(path.Child("defaultRequest").Key(string(k)), request,
				fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", def.String(), request.String(), k)))
	}
	return f.errs
}

// limitRatio checks that limits may exceed requests by a possible factor.
func limitRatio(path *field.Path, name corev1.ResourceName, item *corev1.LimitRangeItem) field.ErrorList {
	ratio, ok := item.MaxLimitRequestRatio[name]
	if !ok {
		return nil
	}
	var f findings
	f.addIf(ratio.Cmp(resource.MustParse("1")) < 0, field.Invalid(path, ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	least, hasLeast := item.Min[name]
	most, hasMost := item.Max[name]
	if !hasLeast || !hasMost {
		return f.errs
	}
	factor, a, b := float64(ratio.Value()), least.Value(), most.Value()
	if max(ratio.Value(), a, b) < resource.MaxMilliValue {
		factor, a, b = float64(ratio.MilliValue())/1000, least.MilliValue(), most.MilliValue()
	}
	possible := float64(b) / float64(a)
	f.addIf(factor > possible, field.Invalid(path, ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), possible)))
	return f.errs
}

// ResourceQuota checks a new quota.
func ResourceQuota(o *corev1.ResourceQuota) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(quotaSpec(&o.Spec), quotaStatus(o))
	return f.errs
}

// ResourceQuotaUpdate checks a quota that replaces another.
func ResourceQuotaUpdate(o, old *corev1.ResourceQuota) field.ErrorList {
	f := findings{ResourceQuota(o)}
	f.merge(updated(&o.ObjectMeta, &old.ObjectMeta).errs, quotaSpec(&o.Spec))
	f.addIf(!sets.New(o.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)),
		field.Invalid(field.NewPath("spec", "scopes"), o.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	return f.errs
}

// ResourceQuotaStatusUpdate checks what a quota says is used.
func ResourceQuotaStatusUpdate(o, old *corev1.ResourceQuota) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.addIf(o.ResourceVersion == "", field.Required(field.NewPath("resourceVersion"), ""))
	f.merge(quotaStatus(o))
	return f.errs
}

func quotaStatus(o *corev1.ResourceQuota) field.ErrorList {
	return append(quotaAmounts(field.NewPath("status", "hard"), o.Status.Hard),
		quotaAmounts(field.NewPath("status", "used"), o.Status.Used)...)
}

func quotaAmounts(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var f findings
	for name, amount := range sorted(list) {
		path := path.Key(string(name))
		f.merge(resourceName(path, name))
		f.addIf(!isQualifiedResource(name) && !isQuotaResource(name), field.Invalid(path, name, "must be a standard resource for quota"))
		f.merge(resourceQuantity(path, name, amount))
	}
	return f.errs
}

var (
	quotaOfPods    = sets.New(corev1.ResourcePods)
	quotaOfCompute = sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory)
	quotaOfClaims = sets.New(corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage)
	// quotaOfOthers are the rest of what a quota can limit under an unqualified name.
	quotaOfOthers = countedResources.Union(sets.New(corev1.ResourceEphemeralStorage, corev1.ResourceRequestsStorage,
		corev1.ResourceRequestsEphemeralStorage, corev1.ResourceLimitsEphemeralStorage))
)

func isQuotaResource(name corev1.ResourceName) bool {
	return quotaOfCompute.Has(name) || quotaOfOthers.Has(name) || isHugePages(name) ||
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
	f := findings{quotaAmounts(path.Child("hard"), spec.Hard)}
	scopes := sets.New[corev1.ResourceQuotaScope]()
	limits := func(scope corev1.ResourceQuotaScope, unsupported, unfit *field.Error) {
		possible, known := quotaScopes[scope]
		f.addIf(!known, unsupported)
		for name := range spec.Hard {
			f.addIf(known && isQuotaResource(name) && !possible.Has(name), unfit)
		}
		scopes.Insert(scope)
	}
	conflict := func(at *field.Path, value any) {
		for _, pair := range [][]corev1.ResourceQuotaScope{
			{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
			{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
		} {
			f.addIf(scopes.HasAll(pair...), field.Invalid(at, value, "conflicting scopes"))
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
		return f.errs
	}
	at = path.Child("scopeSelector", "matchExpressions")
	shown := unversioned(spec.ScopeSelector)
	for _, r := range spec.ScopeSelector.MatchExpressions {
		limits(r.ScopeName, field.Invalid(at.Child("scopeName"), r.ScopeName, "unsupported scope"),
			field.Invalid(at, shown, "unsupported scope applied to resource"))
		f.merge(quotaRequirement(at, &r))
	}
	conflict(at, shown)
	return f.errs
}

func quotaRequirement(at *field.Path, r *corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	var f findings
	operator, values := at.Child("operator"), at.Child("values")
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating,
		corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		f.addIf(r.Operator != corev1.ScopeSelectorOpExists, field.Invalid(operator, r.Operator,
			"must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "+
				"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		f.addIf(len(r.Values) == 0, field.Required(values,
			"must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		f.addIf(len(r.Values) != 0, field.Invalid(values, r.Values,
			"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
	default:
		f.add(field.Invalid(operator, r.Operator, "not a valid selector operator"))
	}
	return f.errs
}
