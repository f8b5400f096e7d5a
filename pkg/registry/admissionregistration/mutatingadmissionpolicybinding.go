package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// mutatingAdmissionPolicyBindingKind is the row of mutatingadmissionpolicybindings in the server's table of kinds.
var mutatingAdmissionPolicyBindingKind = registry.Kind{
	Resource:   "mutatingadmissionpolicybindings",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.MutatingAdmissionPolicyBinding{},
	List:       &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultMutatingAdmissionPolicyBinding),
		registry.DefaultLike[admissionregistrationv1beta1.MutatingAdmissionPolicyBinding](defaultMutatingAdmissionPolicyBinding),
		registry.DefaultLike[admissionregistrationv1alpha1.MutatingAdmissionPolicyBinding](defaultMutatingAdmissionPolicyBindingV1alpha1),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &mutatingAdmissionPolicyBindingColumns,
	Hooks: withoutStaticNames(registry.HooksOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
		Validate:       ValidateMutatingAdmissionPolicyBinding,
		ValidateUpdate: validateMutatingAdmissionPolicyBindingUpdate,
		Authorize: readsParam("mutatingadmissionpolicies", func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) (string, *admissionregistrationv1.ParamRef) {
			return b.Spec.PolicyName, b.Spec.ParamRef
		}),
	}),
}

func defaultMutatingAdmissionPolicyBinding(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	defaultMatchResources(b.Spec.MatchResources)
}

func defaultMutatingAdmissionPolicyBindingV1alpha1(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	defaultMutatingAdmissionPolicyBinding(b)
	denyWithoutParameters(b.Spec.ParamRef)
}

// ValidateMutatingAdmissionPolicyBinding checks a new binding of a MutatingAdmissionPolicy.
func ValidateMutatingAdmissionPolicyBinding(o *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	name := validation.Required(validation.ObjectName, field.NewPath("spec", "policyName"), o.Spec.PolicyName)
	f := policyBinding(&o.ObjectMeta, name, o.Spec.ParamRef, o.Spec.MatchResources)
	f.Merge(mutatedOperations(o.Spec.MatchResources, field.NewPath("spec", "matchResources")))
	return f.Errs
}

func validateMutatingAdmissionPolicyBindingUpdate(o, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return ValidateMutatingAdmissionPolicyBinding(o)
}

var mutatingAdmissionPolicyBindingColumns = printers.Of(bindingColumns, func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) []any {
	return bindingCells(&b.ObjectMeta, b.Spec.PolicyName, b.Spec.ParamRef)
})
