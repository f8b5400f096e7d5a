package integration_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// applies returns a mutation of a MutatingAdmissionPolicy. The CEL expression returns the apply configuration.
func applies(expression string) admissionregistrationv1.Mutation {
	return admissionregistrationv1.Mutation{
		PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
		ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: expression},
	}
}

func patches(expression string) admissionregistrationv1.Mutation {
	return admissionregistrationv1.Mutation{
		PatchType: admissionregistrationv1.PatchTypeJSONPatch,
		JSONPatch: &admissionregistrationv1.JSONPatch{Expression: expression},
	}
}

// mutate creates a mutating policy with a binding, and deletes both at the end of the test. By default, the policy
// applies to the creation of ConfigMaps, and its reinvocationPolicy is Never.
func mutate(t testing.TB, srv *miniapitest.Server, name string, spec admissionregistrationv1.MutatingAdmissionPolicySpec, param *admissionregistrationv1.ParamRef) {
	t.Helper()
	if spec.MatchConstraints == nil {
		spec.MatchConstraints = matchResources("CREATE", "v1", "configmaps")
	}
	if spec.ReinvocationPolicy == "" {
		spec.ReinvocationPolicy = admissionregistrationv1.NeverReinvocationPolicy
	}
	client, ctx := srv.Client().AdmissionregistrationV1(), context.WithoutCancel(t.Context())
	must(client.MutatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: named(name), Spec: spec}, metav1.CreateOptions{}))(t)
	must(client.MutatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: named(name), Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name, ParamRef: param},
	}, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		ok(t, client.MutatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}))
		ok(t, client.MutatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{}))
	})
}

// mutations returns the spec of a policy with some mutations.
func mutations(mutations ...admissionregistrationv1.Mutation) admissionregistrationv1.MutatingAdmissionPolicySpec {
	return admissionregistrationv1.MutatingAdmissionPolicySpec{Mutations: mutations}
}

// Mutating policies run before mutating webhooks. If a policy or a webhook changes the object, the server again calls
// policies and webhooks with the reinvocationPolicy IfNeeded. The cases mutatingPolicy.reinvocation.* of the
// conformance suite have only one policy, and a webhook that isn't called again.
func TestMutatingPoliciesAndReinvocation(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	ifNeeded := admissionregistrationv1.IfNeededReinvocationPolicy
	// counts returns the spec of a policy that adds an x to the value of a key at each call.
	counts := func(key string, policy admissionregistrationv1.ReinvocationPolicyType) admissionregistrationv1.MutatingAdmissionPolicySpec {
		return admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: policy,
			Mutations: []admissionregistrationv1.Mutation{applies(
				`Object{data: {"` + key + `": has(object.data) && "` + key + `" in object.data ? object.data["` + key + `"] + "x" : "x"}}`)},
		}
	}
	adds := func(key string) *admissionv1.AdmissionResponse {
		return miniapitest.Patched(miniapitest.Add("/data/"+key, "1"))
	}
	tests := []struct {
		name, reason string
		prepare      func(*testing.T) *miniapitest.Recorder
		calls        []string
		want         map[string]string
	}{{
		name: "before", reason: "the webhook gets the policy's change, and changes nothing",
		prepare: func(t *testing.T) *miniapitest.Recorder {
			mutate(t, srv, "p", counts("p", ""), nil)
			return install(t, srv, mutating("a", answering(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				if decode[corev1.ConfigMap](t, r.Object.Raw).Data["p"] != "x" {
					return miniapitest.Denied("the policy hasn't been here")
				}
				return unchanged()
			})))
		},
		calls: []string{"a"}, want: map[string]string{"made": "first", "p": "x"},
	}, {
		name: "never", reason: "the webhook changes the object, but the policy isn't called again",
		prepare: func(t *testing.T) *miniapitest.Recorder {
			mutate(t, srv, "p", counts("p", ""), nil)
			return install(t, srv, mutating("a", answering(inTurn(adds("a"))), mayBeReinvoked))
		},
		calls: []string{"a"}, want: map[string]string{"made": "first", "p": "x", "a": "1"},
	}, {
		name: "if-needed", reason: "the policy is called again after the webhook's change, and the webhook after the policy's second change",
		prepare: func(t *testing.T) *miniapitest.Recorder {
			mutate(t, srv, "p", counts("p", ifNeeded), nil)
			return install(t, srv, mutating("a", answering(inTurn(adds("a"), unchanged())), mayBeReinvoked))
		},
		calls: []string{"a", "a"}, want: map[string]string{"made": "first", "p": "xx", "a": "1"},
	}, {
		name: "alone", reason: "a change by the policy itself is enough to call the policy again",
		prepare: func(t *testing.T) *miniapitest.Recorder {
			mutate(t, srv, "p", counts("p", ifNeeded), nil)
			return install(t, srv)
		},
		want: map[string]string{"made": "first", "p": "xx"},
	}, {
		name: "policies", reason: "the first policy is called again after the second policy's change",
		prepare: func(t *testing.T) *miniapitest.Recorder {
			mutate(t, srv, "p", counts("p", ifNeeded), nil)
			mutate(t, srv, "q", counts("q", ""), nil)
			return install(t, srv)
		},
		want: map[string]string{"made": "first", "p": "xx", "q": "x"},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recorder := test.prepare(t)
			created := must(srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: named(test.name), Data: map[string]string{"made": "first"},
			}, metav1.CreateOptions{}))(t)
			if diff := cmp.Diff(test.calls, called(recorder)); diff != "" {
				t.Errorf("%s: calls (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.want, created.Data); diff != "" {
				t.Errorf("%s: data (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
