package integration_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
		name:   "if-needed",
		reason: "the policy is called again after the webhook's change, and the webhook after the policy's second change",
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

// A policy's apply configuration has a type if a resource has the kind of the object. The kinds that only subresources
// have are in no OpenAPI document of their own group version, so the policy fails for them.
func TestMutatingPoliciesOnSubresources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core, apps, ctx := srv.Client().CoreV1(), srv.Client().AppsV1(), t.Context()
	must(resources(srv, "apps/v1", "deployments").Create(ctx, deployment("apps/v1", "d"), metav1.CreateOptions{}))(t)
	must(core.Pods(metav1.NamespaceDefault).Create(ctx, pod("p"), metav1.CreateOptions{}))(t)
	must(core.ServiceAccounts(metav1.NamespaceDefault).Create(ctx, &corev1.ServiceAccount{ObjectMeta: named("s")}, metav1.CreateOptions{}))(t)
	spec := mutations(applies("Object{}"))
	spec.MatchConstraints = matchResources("*", "*", "*/*")
	spec.MatchConstraints.ResourceRules[0].APIGroups = []string{"*"}
	mutate(t, srv, "p", spec, nil)
	for _, test := range []struct {
		name, reason string
		request      func() error
		untyped      string
	}{
		{"pods/status", "the subresource has the kind of the resource", func() error {
			_, err := core.Pods(metav1.NamespaceDefault).Patch(ctx, "p", types.MergePatchType, []byte(`{"status":{"message":"m"}}`), metav1.PatchOptions{}, "status")
			return err
		}, ""},
		{"pods/binding", "bindings is a resource, too", func() error {
			return core.Pods(metav1.NamespaceDefault).Bind(ctx, &corev1.Binding{ObjectMeta: named("p"), Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		}, ""},
		{"deployments/scale", "no resource is a Scale", func() error {
			_, err := apps.Deployments(metav1.NamespaceDefault).UpdateScale(ctx, "d", &autoscalingv1.Scale{ObjectMeta: named("d")}, metav1.UpdateOptions{})
			return err
		}, "autoscaling/v1, Kind=Scale"},
		{"pods/eviction", "no resource is an Eviction", func() error {
			return core.Pods(metav1.NamespaceDefault).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: named("p")})
		}, "policy/v1, Kind=Eviction"},
		{"serviceaccounts/token", "no resource is a TokenRequest", func() error {
			_, err := core.ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, "s", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			return err
		}, "authentication.k8s.io/v1, Kind=TokenRequest"},
		{"pods/exec", "the options of a connection are no resource", func() error {
			return core.RESTClient().Post().Namespace(metav1.NamespaceDefault).Resource("pods").Name("p").SubResource("exec").Param("command", "ls").Do(ctx).Error()
		}, "/v1, Kind=PodExecOptions"},
	} {
		want := refused{}
		if test.untyped != "" {
			want = refused{403, metav1.StatusReasonInvalid, "policy 'p' with binding 'p' denied request: error applying patch: failed to convert patch object to typed object: no corresponding type for " + test.untyped}
		}
		if diff := cmp.Diff(want, statusOf(test.request())); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}
