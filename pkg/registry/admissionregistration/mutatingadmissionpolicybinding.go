package admissionregistration

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// mutatingAdmissionPolicyBindingKind is the row of mutatingadmissionpolicybindings.
var mutatingAdmissionPolicyBindingKind = registry.Kind{
	Resource:   "mutatingadmissionpolicybindings",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.MutatingAdmissionPolicyBinding{}, List: &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultMutatingAdmissionPolicyBinding),
		registry.DefaultOf(defaultMutatingAdmissionPolicyBindingV1beta1),
		registry.DefaultOf(defaultMutatingAdmissionPolicyBindingV1alpha1),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &mutatingAdmissionPolicyBindingColumns,
	Hooks:             withoutStaticNames(mutatingBindingHooks),
}

// defaultMutatingAdmissionPolicyBinding sets the defaults of a
// MutatingAdmissionPolicyBinding.
func defaultMutatingAdmissionPolicyBinding(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	defaultMatchResources(b.Spec.MatchResources)
}

// defaultMutatingAdmissionPolicyBindingV1beta1 sets the defaults of
// an admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding.
func defaultMutatingAdmissionPolicyBindingV1beta1(b *admissionv1beta1.MutatingAdmissionPolicyBinding) {
	matchResourcesV1beta1(b.Spec.MatchResources)
}

// defaultMutatingAdmissionPolicyBindingV1alpha1 sets the defaults of
// an admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding.
func defaultMutatingAdmissionPolicyBindingV1alpha1(b *admissionv1alpha1.MutatingAdmissionPolicyBinding) {
	matchResourcesV1alpha1(b.Spec.MatchResources)
	parameters(b.Spec.ParamRef)
}

// ValidateMutatingAdmissionPolicyBinding checks a new binding.
func ValidateMutatingAdmissionPolicyBinding(o *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	f := policyBinding(&o.ObjectMeta, o.Spec.PolicyName, o.Spec.ParamRef, o.Spec.MatchResources, "matchResources")
	f.Merge(mutatedOperations(o.Spec.MatchResources, field.NewPath("spec", "matchResources")))
	return f.Errs
}

// validateMutatingAdmissionPolicyBindingUpdate checks a binding that replaces another.
func validateMutatingAdmissionPolicyBindingUpdate(o, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return ValidateMutatingAdmissionPolicyBinding(o)
}

var mutatingBindingHooks = registry.HooksOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
	Validate:       ValidateMutatingAdmissionPolicyBinding,
	ValidateUpdate: validateMutatingAdmissionPolicyBindingUpdate,
	Authorize: func(ctx context.Context, deps registry.Dependencies, b, old *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
		if old != nil && b.Spec.PolicyName == old.Spec.PolicyName && apiequality.Semantic.DeepEqual(b.Spec.ParamRef, old.Spec.ParamRef) {
			return nil
		}
		return forbidden("paramRef", mayReadParam(ctx, deps, "mutatingadmissionpolicies", b.Spec.PolicyName, b.Spec.ParamRef))
	},
}

var mutatingAdmissionPolicyBindingColumns = printers.Of(
	[]printers.Column{printers.NameColumn, policyNameColumn, paramRefColumn, printers.AgeColumn},
	func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) []any {
		return []any{b.Name, b.Spec.PolicyName, paramRefCell(b.Spec.ParamRef), printers.Since(b.CreationTimestamp)}
	})
