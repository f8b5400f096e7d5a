package admissionregistration

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestValidatingAdmissionPolicyBinding(t *testing.T) {
	t.Parallel()
	o := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "binding"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			ParamRef: &admissionregistrationv1.ParamRef{Name: "a", Selector: &metav1.LabelSelector{}},
			MatchResources: &admissionregistrationv1.MatchResources{MatchPolicy: ptr.To(admissionregistrationv1.Exact),
				NamespaceSelector: &metav1.LabelSelector{}},
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny,
				admissionregistrationv1.Warn, admissionregistrationv1.Deny},
		},
	}
	registrytest.WantErrors(t, "a binding names a policy, one way to find parameters, and actions that make sense together",
		ValidateValidatingAdmissionPolicyBinding(o),
		"spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
		"spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
		"spec.paramRef.parameterNotFoundAction: Required value",
		"spec.matchResources.objectSelector: Required value",
		`spec.validationActions[2]: Duplicate value: "Deny"`,
		`spec.validationActions: Invalid value: ["Deny","Warn","Deny"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)`,
		"spec.policyName: Required value",
	)
}

func TestValidatingAdmissionPolicyBindingColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "parameters by selector", Reason: "the selector is shown in place of the parameter's name",
			Object: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: "p",
					ParamRef:   &admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"k": "v"}}},
				},
			},
			Want: []any{"x", "p",
				"&LabelSelector{MatchLabels:map[string]string{k: v,},MatchExpressions:[]LabelSelectorRequirement{},}",
				"30d"},
		},
	})
}
