package admissionregistration

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestValidatingAdmissionPolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		spec         admissionregistrationv1.ValidatingAdmissionPolicySpec
		want         []string
	}{
		{
			name: "valid", reason: "variables, parameters and all kinds of expression compile together",
			spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				ParamKind:        &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
				MatchConstraints: configMaps(),
				MatchConditions:  []admissionregistrationv1.MatchCondition{{Name: "a", Expression: "params != null"}},
				Variables: []admissionregistrationv1.Variable{{Name: "one", Expression: "1"},
					{Name: "two", Expression: "variables.one + 1"}},
				Validations: []admissionregistrationv1.Validation{{
					Expression:        "variables.two == 2 && authorizer.group('').resource('pods').check('get').allowed()",
					MessageExpression: "'no ' + params.metadata.name",
				}},
				AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "k", ValueExpression: "string(variables.two)"}},
			},
		},
		{
			name: "nothing said", reason: "a policy has to match requests and check something",
			want: []string{
				"spec.matchConstraints: Required value",
				"spec.validations: Required value: validations or auditAnnotations must contain at least one item",
				"spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
			},
		},
		{
			name: "types", reason: "each expression has to yield the type of its field",
			spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: configMaps(),
				Variables:        []admissionregistrationv1.Variable{{Name: "in", Expression: " "}},
				Validations: []admissionregistrationv1.Validation{
					{Expression: "1", MessageExpression: "2", Message: " "},
					{Expression: "true", Message: "a\nb", Reason: ptr.To(metav1.StatusReasonConflict), MessageExpression: " "},
				},
				AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "k", ValueExpression: "3"},
					{Key: "k", ValueExpression: "'s'"}},
			},
			want: []string{
				`spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier`,
				"spec.variables[0].expression: Required value: expression is not specified",
				`spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int`,
				`spec.validations[0].messageExpression: Invalid value: "2": must evaluate to string but got int`,
				`spec.validations[0].message: Invalid value: " ": must be non-empty if specified`,
				`spec.validations[1].messageExpression: Invalid value: " ": must be non-empty if specified`,
				`spec.validations[1].message: Invalid value: "a\nb": must not contain line breaks`,
				`spec.validations[1].reason: Unsupported value: "Conflict": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`,
				`spec.auditAnnotations[0].valueExpression: Invalid value: "3": must evaluate to one of [string null_type] but got int`,
				`spec.auditAnnotations[1].key: Duplicate value: "k"`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}, Spec: tc.spec}
			defaultValidatingAdmissionPolicy(o)
			registrytest.WantErrors(t, tc.reason, ValidateValidatingAdmissionPolicy(o), tc.want...)
		})
	}
}

func configMaps() *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
				Resources: []string{"configmaps"}},
		},
	}}}
}
