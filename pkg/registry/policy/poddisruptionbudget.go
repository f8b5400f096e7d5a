package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podDisruptionBudgetKind is the row of poddisruptionbudgets in the server's table of kinds.
var podDisruptionBudgetKind = registry.Kind{
	Resource:   "poddisruptionbudgets",
	ShortNames: []string{"pdb"},
	Namespaced: true,
	Object:     &policyv1.PodDisruptionBudget{}, List: &policyv1.PodDisruptionBudgetList{},
	Defaults:          []registry.Default{registry.DefaultOf(defaultPodDisruptionBudget)},
	Status:            true,
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &podDisruptionBudgetColumns,
	Hooks: registry.HooksOf[*policyv1.PodDisruptionBudget]{
		Validate:             validatePodDisruptionBudget,
		ValidateUpdate:       validatePodDisruptionBudgetUpdate,
		ValidateStatusUpdate: validatePodDisruptionBudgetStatusUpdate,
	},
}

// defaultPodDisruptionBudget removes the requirements about emptySelectorLabel from a selector. Only a single
// requirement with the operator Exists stays: without it, the selector would select all pods instead of none.
func defaultPodDisruptionBudget(b *policyv1.PodDisruptionBudget) {
	s := b.Spec.Selector
	if s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 1 && s.MatchExpressions[0].Operator == metav1.LabelSelectorOpExists {
		return
	}
	dropEmptySelectorLabel(s)
}

// validatePodDisruptionBudget checks a new PodDisruptionBudget. As in kube-apiserver, every name is valid.
func validatePodDisruptionBudget(o *policyv1.PodDisruptionBudget) field.ErrorList {
	return budgetSpec(&o.Spec, metav1validation.LabelSelectorValidationOptions{})
}

// validatePodDisruptionBudgetUpdate checks an update of a PodDisruptionBudget. If the stored selector has an invalid
// label value, the new selector may have one too.
func validatePodDisruptionBudgetUpdate(o, old *policyv1.PodDisruptionBudget) field.ErrorList {
	return budgetSpec(&o.Spec, metav1validation.LabelSelectorValidationOptions{
		AllowInvalidLabelValueInSelector: metav1validation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector),
	})
}

// validatePodDisruptionBudgetStatusUpdate checks the status that a controller writes.
func validatePodDisruptionBudgetStatusUpdate(o, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	path := field.NewPath("status")
	f := validation.Findings{Errs: metav1validation.ValidateConditions(o.Status.Conditions, path.Child("conditions"))}
	f.Merge(validation.Nonnegative(path.Child("disruptionsAllowed"), o.Status.DisruptionsAllowed),
		validation.Nonnegative(path.Child("currentHealthy"), o.Status.CurrentHealthy),
		validation.Nonnegative(path.Child("desiredHealthy"), o.Status.DesiredHealthy),
		validation.Nonnegative(path.Child("expectedPods"), o.Status.ExpectedPods))
	return f.Errs
}

func budgetSpec(spec *policyv1.PodDisruptionBudgetSpec, opts metav1validation.LabelSelectorValidationOptions) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	f.AddIf(spec.MinAvailable != nil && spec.MaxUnavailable != nil,
		field.Invalid(path, validation.Unversioned(*spec), "minAvailable and maxUnavailable cannot be both set"))
	if v := spec.MinAvailable; v != nil {
		f.Merge(validation.IntOrPercent(path.Child("minAvailable"), *v), validation.AtMostAll(path.Child("minAvailable"), *v))
	}
	if v := spec.MaxUnavailable; v != nil {
		f.Merge(validation.IntOrPercent(path.Child("maxUnavailable"), *v), validation.AtMostAll(path.Child("maxUnavailable"), *v))
	}
	f.Merge(metav1validation.ValidateLabelSelector(spec.Selector, opts, path.Child("selector")))
	f.Merge(validation.OptionalOneOf(path.Child("unhealthyPodEvictionPolicy"), spec.UnhealthyPodEvictionPolicy,
		policyv1.AlwaysAllow, policyv1.IfHealthyBudget))
	return f.Errs
}

// podDisruptionBudgetColumns makes the rows of kubectl get. They show minAvailable, maxUnavailable, and the
// number of pods that may be disrupted now.
var podDisruptionBudgetColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Min Available", "The minimum number of pods that must be available."),
		printers.Text("Max Unavailable", "The maximum number of pods that may be unavailable."),
		printers.Number("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
		printers.AgeColumn,
	},
	func(b *policyv1.PodDisruptionBudget) []any {
		bound := func(n *intstr.IntOrString) string {
			if n == nil {
				return "N/A"
			}
			return n.String()
		}
		return []any{
			b.Name, bound(b.Spec.MinAvailable), bound(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed),
			printers.Since(b.CreationTimestamp),
		}
	})
