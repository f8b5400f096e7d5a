package resource

import (
	"fmt"
	"slices"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// deviceCapacity checks the policy by which requests share a capacity of a device (KEP-5075). Only a device that allows
// multiple allocations has such policies.
func deviceCapacity(path *field.Path, c *resourcev1.DeviceCapacity, shared bool) field.ErrorList {
	path = path.Child("requestPolicy")
	switch policy := c.RequestPolicy; {
	case policy == nil:
		return nil
	case !shared:
		return field.ErrorList{field.Forbidden(path, "allowMultipleAllocations must be true")}
	case len(policy.ValidValues) > 0 && policy.ValidRange != nil:
		return field.ErrorList{field.Forbidden(path, `exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)}
	case len(policy.ValidValues) > 0 && policy.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validValues is defined")}
	case len(policy.ValidValues) > 0:
		return validAmounts(path.Child("validValues"), policy.ValidValues, *policy.Default, c.Value)
	case policy.ValidRange != nil && policy.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validRange is defined")}
	case policy.ValidRange != nil:
		return validRange(path.Child("validRange"), policy.ValidRange, *policy.Default, c.Value)
	}
	return nil
}

// maxValidAmounts is the limit of validValues.
const maxValidAmounts = 10

// validAmounts checks the list of the amounts that a request may consume. The default is one of them.
func validAmounts(path *field.Path, amounts []apiresource.Quantity, usual, capacity apiresource.Quantity) field.ErrorList {
	var f validation.Findings
	for i := 1; i < len(amounts); i++ {
		f.AddIf(amounts[i-1].Cmp(amounts[i]) > 0, field.Invalid(path.Index(i), amounts[i].String(), "values must be sorted in ascending order"))
	}
	f.Merge(validation.Few(path, len(amounts), maxValidAmounts))
	few := validation.Within(amounts, maxValidAmounts)
	for i, q := range few {
		f.AddIf(q.Cmp(capacity) > 0, field.Invalid(path.Index(i), q.String(), "option is larger than capacity value: "+capacity.String()))
	}
	// As in kube-apiserver, amounts are equal if they round up to the same whole number.
	for i, q := range few {
		equal := func(other apiresource.Quantity) bool { return other.Value() == q.Value() }
		f.AddIf(slices.ContainsFunc(few[:i], equal), field.Duplicate(path.Index(i), strconv.FormatInt(q.Value(), 10)))
	}
	isUsual := func(q apiresource.Quantity) bool { return q.Cmp(usual) == 0 }
	f.AddIf(!slices.ContainsFunc(few, isUsual), field.Invalid(path, usual.String(), "default value is not valid according to the requestPolicy"))
	return f.Errs
}

// validRange checks the range of the amounts that a request may consume. The default is in the range.
func validRange(path *field.Path, r *resourcev1.CapacityRequestPolicyRange, usual, capacity apiresource.Quantity) field.ErrorList {
	least, most := path.Child("min"), path.Child("max")
	if r.Min == nil {
		return field.ErrorList{field.Required(least, "required when validRange is defined")}
	}
	over := func(q, bound apiresource.Quantity) bool { return q.Cmp(bound) > 0 }
	type rule struct {
		broken  bool
		path    *field.Path
		value   apiresource.Quantity
		message string
		bound   apiresource.Quantity
	}
	rules := []rule{
		{over(*r.Min, capacity), least, *r.Min, "min is larger than capacity value", capacity},
		{over(*r.Min, usual), least, usual, "default is less than min", *r.Min},
	}
	if end := r.Max; end != nil {
		rules = append(rules,
			rule{over(*r.Min, *end), most, *r.Min, "min is larger than max", *end},
			rule{over(*end, capacity), most, *end, "max is larger than capacity value", capacity},
			rule{over(usual, *end), most, usual, "default is more than max", *end})
	}
	var f validation.Findings
	for _, r := range rules {
		f.AddIf(r.broken, field.Invalid(r.path, r.value.String(), r.message+": "+r.bound.String()))
	}
	if r.Step != nil {
		f.Merge(validStep(path.Child("step"), r, usual, capacity))
	}
	return f.Errs
}

// validStep checks that the default and the largest amount are a whole number of steps above the smallest.
func validStep(path *field.Path, r *resourcev1.CapacityRequestPolicyRange, usual, capacity apiresource.Quantity) field.ErrorList {
	var f validation.Findings
	second := r.Min.DeepCopy()
	second.Add(*r.Step)
	f.AddIf(second.Cmp(capacity) > 0, field.Invalid(path, r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s", &second, &capacity)))
	if r.Step.Value() == 0 {
		// kube-apiserver panics, and so refuses the step too.
		f.Add(field.Invalid(path, r.Step.String(), "must not be zero"))
		return f.Errs
	}
	amounts := []apiresource.Quantity{usual}
	if r.Max != nil {
		amounts = append(amounts, *r.Max)
	}
	for _, q := range amounts {
		f.AddIf((q.Value()-r.Min.Value())%r.Step.Value() != 0,
			field.Invalid(path, q.String(), fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step, r.Min)))
	}
	return f.Errs
}
