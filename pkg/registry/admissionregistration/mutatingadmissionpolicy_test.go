package admissionregistration

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestMutatingAdmissionPolicy(t *testing.T) {
	t.Parallel()
	policy := func(mutations ...admissionregistrationv1.Mutation) *admissionregistrationv1.MutatingAdmissionPolicy {
		o := &admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "policy"},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints: configMaps(), Mutations: mutations, ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			},
		}
		defaultMutatingAdmissionPolicy(o)
		return o
	}
	apply := func(s string) *admissionregistrationv1.ApplyConfiguration {
		return &admissionregistrationv1.ApplyConfiguration{Expression: s}
	}
	patch := func(s string) *admissionregistrationv1.JSONPatch {
		return &admissionregistrationv1.JSONPatch{Expression: s}
	}

	registrytest.WantErrors(t, "objects and patches are known types", ValidateMutatingAdmissionPolicy(policy(
		admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: apply(`Object{metadata: Object.metadata{labels: {"a": "b"}}}`)},
		admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch,
			JSONPatch: patch(`[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a/b"), value: "c"}]`)},
	)))
	registrytest.WantErrors(t, "a policy without mutations does nothing", ValidateMutatingAdmissionPolicy(policy()),
		"spec.mutations: Required value: mutations must contain at least one item")

	deletes := policy(admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration, ApplyConfiguration: apply("Object{}")})
	deletes.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Delete}
	deletes.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Expression: "true"}}
	registrytest.WantErrors(t, "a deletion has no object to change", ValidateMutatingAdmissionPolicy(deletes),
		`spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`,
		"spec.matchConditions[0].name: Required value")

	registrytest.WantErrors(t, "a mutation has the member that its type names, and no other", ValidateMutatingAdmissionPolicy(policy(
		admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: patch(" "), ApplyConfiguration: apply("Object{}")},
		admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration, ApplyConfiguration: apply(" 1 ")},
		admissionregistrationv1.Mutation{PatchType: "Diff", JSONPatch: patch("[]")},
	)),
		"spec.mutations[0].jsonPatch.expression: Required value",
		`spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch`,
		`spec.mutations[1].applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int`,
		`spec.mutations[2].patchType: Unsupported value: "Diff": supported values: "ApplyConfiguration", "JSONPatch"`)

	errs := ValidateMutatingAdmissionPolicy(policy(
		admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration, JSONPatch: patch("[]")},
		admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: patch("unknown")},
		admissionregistrationv1.Mutation{PatchType: "Diff"},
	))
	var got []string
	for _, err := range errs {
		got = append(got, err.Field)
	}
	if want := "spec.mutations[0].applyConfiguration spec.mutations[0].jsonPatch " +
		"spec.mutations[1].jsonPatch.expression spec.mutations[2].patchType"; strings.Join(got, " ") != want {
		t.Errorf("a mutation has one member and compiles: got errors on %v, want %v", got, want)
	}
}
