package admissionregistration

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/admissionregistration/v1"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// validatingAdmissionPolicyBindingKind is the row of validatingadmissionpolicybindings in the server's table of
// kinds.
var validatingAdmissionPolicyBindingKind = registry.Kind{
	Resource:   "validatingadmissionpolicybindings",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
	List:       &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultValidatingAdmissionPolicyBinding),
		registry.DefaultLike[admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding](defaultValidatingAdmissionPolicyBinding),
		registry.DefaultLike[admissionregistrationv1alpha1.ValidatingAdmissionPolicyBinding](defaultValidatingAdmissionPolicyBindingV1alpha1),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &validatingAdmissionPolicyBindingColumns,
	Hooks: withoutStaticNames(registry.HooksOf[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
		Validate:       validateValidatingAdmissionPolicyBinding,
		ValidateUpdate: validateValidatingAdmissionPolicyBindingUpdate,
		Authorize: readsParam("validatingadmissionpolicies", func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) (string, *admissionregistrationv1.ParamRef) {
			return b.Spec.PolicyName, b.Spec.ParamRef
		}),
	}),
}

func defaultValidatingAdmissionPolicyBinding(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	defaultMatchResources(b.Spec.MatchResources)
}

func defaultValidatingAdmissionPolicyBindingV1alpha1(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	defaultValidatingAdmissionPolicyBinding(b)
	denyWithoutParameters(b.Spec.ParamRef)
}

// ValidateValidatingAdmissionPolicyBinding checks a binding of a ValidatingAdmissionPolicy that no request creates.
func ValidateValidatingAdmissionPolicyBinding(o *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	return append(validateValidatingAdmissionPolicyBinding(o), declarativev1.Validate_ValidatingAdmissionPolicyBindingSpec(
		context.Background(), operation.Operation{Type: operation.Create}, validation.SpecPath, &o.Spec, nil)...)
}

func validateValidatingAdmissionPolicyBinding(o *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	name := validation.Optional(validation.ObjectName, field.NewPath("spec", "policyName"), o.Spec.PolicyName)
	f := policyBinding(&o.ObjectMeta, name, o.Spec.ParamRef, o.Spec.MatchResources)
	f.Merge(validationActions(o.Spec.ValidationActions, field.NewPath("spec", "validationActions")))
	return f.Errs
}

func validateValidatingAdmissionPolicyBindingUpdate(o, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	return validateValidatingAdmissionPolicyBinding(o)
}

func validationActions(actions []admissionregistrationv1.ValidationAction, path *field.Path) field.ErrorList {
	var f validation.Findings
	for i, a := range actions {
		f.Merge(validation.OneOf(path.Index(i), a, admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn))
		f.AddIf(slices.Contains(actions[:i], a), field.Duplicate(path.Index(i), a))
	}
	f.AddIf(slices.Contains(actions, admissionregistrationv1.Deny) && slices.Contains(actions, admissionregistrationv1.Warn),
		field.Invalid(path, actions, "must not contain both Deny and Warn (repeating the same validation failure "+
			"information in the API response and headers serves no purpose)"))
	return f.Errs
}

var validatingAdmissionPolicyBindingColumns = printers.Of(bindingColumns, func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) []any {
	return bindingCells(&b.ObjectMeta, b.Spec.PolicyName, b.Spec.ParamRef)
})
