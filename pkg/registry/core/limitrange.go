package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// limitRangeKind is the row of limitranges in the server's table of kinds.
var limitRangeKind = registry.Kind{
	Resource:   "limitranges",
	ShortNames: []string{"limits"},
	Namespaced: true,
	Object:     &corev1.LimitRange{}, List: &corev1.LimitRangeList{},
	Defaults:       []registry.Default{registry.DefaultOf(defaultLimitRange)},
	CreateOnUpdate: true,
	Hooks: registry.HooksOf[*corev1.LimitRange]{
		PrepareForCreate: nameLimitRange,
		Validate:         validateLimitRange,
		ValidateUpdate:   validateLimitRangeUpdate,
	},
}

// defaultLimitRange sets the defaults of a LimitRange. For containers, the default limit is max. The default
// request is the default limit, or min if there is no default limit.
func defaultLimitRange(l *corev1.LimitRange) {
	all := func(corev1.ResourceName) bool { return true }
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		if item.Type == corev1.LimitTypeContainer {
			if item.Default == nil {
				item.Default = corev1.ResourceList{}
			}
			if item.DefaultRequest == nil {
				item.DefaultRequest = corev1.ResourceList{}
			}
			defaults.AddMissing(item.Default, item.Max, all)
			defaults.AddMissing(item.DefaultRequest, item.Default, all)
			defaults.AddMissing(item.DefaultRequest, item.Min, all)
		}
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			defaults.ResourceList(list)
		}
	}
}

// validateLimitRange checks a new limit range.
func validateLimitRange(o *corev1.LimitRange) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
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

func validateLimitRangeUpdate(o, _ *corev1.LimitRange) field.ErrorList { return validateLimitRange(o) }

func limitType(path *field.Path, t corev1.LimitType) field.ErrorList {
	if errs := validation.Qualified(path, string(t)); len(errs) > 0 {
		return errs
	}
	known := []corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}
	if !strings.Contains(string(t), "/") && !slices.Contains(known, t) {
		return field.ErrorList{field.Invalid(path, t, "must be a standard limit type or fully qualified")}
	}
	return nil
}

func limitItem(path *field.Path, item *corev1.LimitRangeItem) field.ErrorList {
	var f validation.Findings
	names := sets.New[corev1.ResourceName]()
	ofPods := item.Type == corev1.LimitTypePod
	check := func(name string, list corev1.ResourceList) {
		for resource := range validation.Sorted(list) {
			rule := validation.ResourceName
			if ofPods || item.Type == corev1.LimitTypeContainer {
				rule = validation.ContainerResourceName
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

	// ordered compares the quantities of a resource in two lists. It adds an error if the quantity in the list
	// "less" exceeds the quantity in the list "more". The texts "what" and "than" name the two quantities in
	// the error. "name" is the field of the error, and the list "shown" has the value of the error.
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
		f.AddIf(!validation.IsOvercommittable(k) && hasDefault && hasRequest && def.Cmp(request) != 0,
			field.Invalid(path.Child("defaultRequest").Key(string(k)), request,
				fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", def.String(), request.String(), k)))
	}
	return f.Errs
}

// limitRatio checks that maxLimitRequestRatio is at least 1, and not larger than max divided by min.
func limitRatio(path *field.Path, name corev1.ResourceName, item *corev1.LimitRangeItem) field.ErrorList {
	ratio, ok := item.MaxLimitRequestRatio[name]
	if !ok {
		return nil
	}
	var f validation.Findings
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

// nameLimitRange gives a name to a LimitRange that has no name.
func nameLimitRange(_ context.Context, r *corev1.LimitRange) {
	if r.Name == "" {
		r.Name = string(uuid.NewUUID())
	}
}
