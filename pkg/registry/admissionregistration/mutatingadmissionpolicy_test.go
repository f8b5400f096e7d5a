package admissionregistration

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestMutatingAdmissionPolicy(t *testing.T) {
	t.Parallel()
	policy := func(mutations ...admissionv1.Mutation) *admissionv1.MutatingAdmissionPolicy {
		o := &admissionv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "policy"},
			Spec: admissionv1.MutatingAdmissionPolicySpec{
				MatchConstraints: configMaps(), Mutations: mutations, ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			},
		}
		defaultMutatingAdmissionPolicy(o)
		return o
	}
	apply := func(s string) *admissionv1.ApplyConfiguration { return &admissionv1.ApplyConfiguration{Expression: s} }
	patch := func(s string) *admissionv1.JSONPatch { return &admissionv1.JSONPatch{Expression: s} }

	registrytest.WantErrors(t, "objects and patches are known types", ValidateMutatingAdmissionPolicy(policy(
		admissionv1.Mutation{PatchType: admissionv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: apply(`Object{metadata: Object.metadata{labels: {"a": "b"}}}`)},
		admissionv1.Mutation{PatchType: admissionv1.PatchTypeJSONPatch,
			JSONPatch: patch(`[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a/b"), value: "c"}]`)},
	)))
	registrytest.WantErrors(t, "a policy without mutations does nothing", ValidateMutatingAdmissionPolicy(policy()),
		"spec.mutations: Required value: mutations must contain at least one item")

	deletes := policy(admissionv1.Mutation{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: apply("Object{}")})
	deletes.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionv1.OperationType{admissionv1.Create, admissionv1.Delete}
	registrytest.WantErrors(t, "a deletion has no object to change", ValidateMutatingAdmissionPolicy(deletes),
		`spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`)

	errs := ValidateMutatingAdmissionPolicy(policy(
		admissionv1.Mutation{PatchType: admissionv1.PatchTypeApplyConfiguration, JSONPatch: patch("[]")},
		admissionv1.Mutation{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: patch("unknown")},
		admissionv1.Mutation{PatchType: "Diff"},
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
