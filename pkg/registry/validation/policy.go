package validation

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodDisruptionBudget checks a new budget. Like the reference, it has no rule for the
// name.
func PodDisruptionBudget(o *policyv1.PodDisruptionBudget) field.ErrorList {
	return budgetSpec(&o.Spec, metav1validation.LabelSelectorValidationOptions{})
}

// PodDisruptionBudgetUpdate checks a budget that replaces another.
func PodDisruptionBudgetUpdate(o, old *policyv1.PodDisruptionBudget) field.ErrorList {
	return budgetSpec(&o.Spec, metav1validation.LabelSelectorValidationOptions{
		AllowInvalidLabelValueInSelector: metav1validation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector),
	})
}

// PodDisruptionBudgetStatusUpdate checks what a controller reports.
func PodDisruptionBudgetStatusUpdate(o, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	path := field.NewPath("status")
	f := Findings{metav1validation.ValidateConditions(o.Status.Conditions, path.Child("conditions"))}
	f.Merge(Nonnegative(path.Child("disruptionsAllowed"), o.Status.DisruptionsAllowed),
		Nonnegative(path.Child("currentHealthy"), o.Status.CurrentHealthy),
		Nonnegative(path.Child("desiredHealthy"), o.Status.DesiredHealthy),
		Nonnegative(path.Child("expectedPods"), o.Status.ExpectedPods))
	return f.Errs
}

func budgetSpec(spec *policyv1.PodDisruptionBudgetSpec, opts metav1validation.LabelSelectorValidationOptions) field.ErrorList {
	var f Findings
	path := field.NewPath("spec")
	f.AddIf(spec.MinAvailable != nil && spec.MaxUnavailable != nil,
		field.Invalid(path, Unversioned(*spec), "minAvailable and maxUnavailable cannot be both set"))
	if v := spec.MinAvailable; v != nil {
		f.Merge(IntOrPercent(path.Child("minAvailable"), *v), AtMostAll(path.Child("minAvailable"), *v))
	}
	if v := spec.MaxUnavailable; v != nil {
		f.Merge(IntOrPercent(path.Child("maxUnavailable"), *v), AtMostAll(path.Child("maxUnavailable"), *v))
	}
	f.Merge(metav1validation.ValidateLabelSelector(spec.Selector, opts, path.Child("selector")))
	f.Merge(OptionalOneOf(path.Child("unhealthyPodEvictionPolicy"), spec.UnhealthyPodEvictionPolicy,
		policyv1.AlwaysAllow, policyv1.IfHealthyBudget))
	return f.Errs
}
