package admissionwebhook

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// The explanation and k8s.io/apiserver agree whether a webhook matches. The test compares random webhooks, with all
// parts of rules, selectors and conditions, with random requests.
func TestExplanationsAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	library, explainer := explained(t)
	const cases = 2000
	seen := map[trace.Reason]int{}
	random := rand.New(rand.NewPCG(1, 2)) // a fixed seed: each run has the same cases
	for range cases {
		configured, attributes := randomWebhook(random), randomRequest(random)
		hook := webhook.NewMutatingWebhookAccessor("uid", "configuration", configured)
		versions := &versionedObject{original: attributes, objects: equivalents()}

		invocation, refused := library.ShouldCallHook(t.Context(), hook, attributes, equivalents(), versions)
		m := candidate{hook, attributes, equivalents(), versions}.matching("webhooks[0]")
		verdict := explainer.explain(t.Context(), m)

		seen[verdict.Reason]++
		if called := invocation != nil; called != (verdict.Reason == trace.Matched) || (refused != nil) != verdict.Refuses() {
			t.Fatalf("k8s.io/apiserver calls: %t, refuses: %v; the explanation is %+v\nwebhook %+v\nrequest %+v", called, refused, verdict, configured, attributes)
		}
		if invocation != nil {
			matched, _ := m.Rules()
			if matched.Resource != invocation.Resource || matched.Kind != invocation.Kind {
				t.Fatalf("k8s.io/apiserver matches %v, the explanation %v", invocation.Resource, matched.Resource)
			}
		}
	}
	for _, reason := range []trace.Reason{
		trace.Matched, trace.RuleGroup, trace.RuleVersion, trace.RuleResource, trace.RuleSubresource, trace.RuleScope, trace.RuleOperation,
		trace.MatchPolicyExact, trace.NamespaceSelector, trace.ObjectSelector, trace.MatchConditionFalse, trace.MatchConditionFailed,
		trace.MatchConditionRefused, trace.MatchFailed, trace.MatchConditionCost,
	} {
		if seen[reason] == 0 {
			t.Errorf("no case has the reason %s: %v", reason, seen)
		}
	}
}

// explained returns k8s.io/apiserver's plugin and an explainer. The only namespace has the label runlevel=0.
func explained(t *testing.T) (*mutating.Plugin, *explainer) {
	t.Helper()
	plugin, err := NewMutating(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, factory := webhooktesting.NewFakeMutatingDataSource(namespace, nil, t.Context().Done())
	start(t, plugin, testServer(t), webhooktesting.NewAuthenticationInfoResolver(new(int32)), client, factory)
	library, err := plugin.initialized()
	if err != nil {
		t.Fatal(err)
	}
	return library.(*mutating.Plugin), plugin.explainer
}

// equivalents returns the ObjectInterfaces of a server on which deployments of two groups, and of two versions, are
// equivalent.
func equivalents() admission.ObjectInterfaces {
	mapper := runtime.NewEquivalentResourceRegistryWithIdentity(func(r schema.GroupResource) string { return "/" + r.Resource })
	for _, gv := range []schema.GroupVersion{{Group: "apps", Version: "v1"}, {Group: "apps", Version: "v1beta1"}, {Group: "extensions", Version: "v1beta1"}} {
		mapper.RegisterKindFor(gv.WithResource("deployments"), "", gv.WithKind("Deployment"))
	}
	mapper.RegisterKindFor(corev1.SchemeGroupVersion.WithResource("pods"), "", corev1.SchemeGroupVersion.WithKind("Pod"))
	mapper.RegisterKindFor(corev1.SchemeGroupVersion.WithResource("pods"), "status", corev1.SchemeGroupVersion.WithKind("Pod"))
	mapper.RegisterKindFor(corev1.SchemeGroupVersion.WithResource("namespaces"), "", corev1.SchemeGroupVersion.WithKind("Namespace"))
	return &equivalentInterfaces{admission.NewObjectInterfacesFromScheme(scheme.Scheme), mapper}
}

type equivalentInterfaces struct {
	admission.ObjectInterfaces
	mapper runtime.EquivalentResourceMapper
}

func (i *equivalentInterfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return i.mapper
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// some returns a random choice of the values, at least one.
func some[T any](random *rand.Rand, values ...T) []T {
	chosen := []T{pick(random, values...)}
	for _, value := range values {
		if random.IntN(3) == 0 {
			chosen = append(chosen, value)
		}
	}
	return chosen
}

func randomWebhook(random *rand.Rand) *admissionregistrationv1.MutatingWebhook {
	hook := &admissionregistrationv1.MutatingWebhook{
		Name:              "hook.example.com",
		MatchPolicy:       pick(random, new(admissionregistrationv1.Exact), new(admissionregistrationv1.Equivalent), nil),
		FailurePolicy:     pick(random, new(admissionregistrationv1.Fail), new(admissionregistrationv1.Ignore), nil),
		NamespaceSelector: randomSelector(random, "runlevel", "0", "1"),
		ObjectSelector:    randomSelector(random, "app", "a", "b"),
	}
	for range random.IntN(4) {
		hook.Rules = append(hook.Rules, admissionregistrationv1.RuleWithOperations{
			Operations: some(random, admissionregistrationv1.Create, admissionregistrationv1.Update,
				admissionregistrationv1.Delete, admissionregistrationv1.OperationAll),
			Rule: admissionregistrationv1.Rule{
				APIGroups:   some(random, "", "apps", "*"),
				APIVersions: some(random, "v1", "v1beta1", "*"),
				Resources:   some(random, "pods", "deployments", "pods/status", "*", "*/status", "deployments/*", "*/*"),
				Scope: pick(random, nil, new(admissionregistrationv1.AllScopes),
					new(admissionregistrationv1.NamespacedScope), new(admissionregistrationv1.ClusterScope)),
			},
		})
	}
	if random.IntN(20) == 0 { // rare, because conditions take long to compile
		expressions := []string{"true", "request.operation == 'CREATE'", "object.spec.nodeName == 'x'", "params.x", costly}
		for _, expression := range some(random, expressions...) {
			hook.MatchConditions = append(hook.MatchConditions, admissionregistrationv1.MatchCondition{Name: "c", Expression: expression})
		}
	}
	return hook
}

// costly is an expression whose cost exceeds the limit.
const costly = "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))"

func randomSelector(random *rand.Rand, key string, values ...string) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	switch random.IntN(6) {
	case 0:
		selector.MatchLabels = map[string]string{key: pick(random, values...)}
	case 1:
		operator := pick(random, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn)
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: some(random, values...)}}
	case 2:
		operator := pick(random, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: operator}}
	}
	return selector
}

func randomRequest(random *rand.Rand) admission.Attributes {
	labels := func() map[string]string {
		return pick(random, nil, map[string]string{"app": "a"}, map[string]string{"app": "b", "x": "y"})
	}
	type kind struct {
		schema.GroupVersionResource
		name        string
		subresource string
		object      func() runtime.Object
		cluster     bool
	}
	deployment := func() runtime.Object { return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: labels()}} }
	pod := func() runtime.Object { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels()}} }
	k := pick(
		random,
		kind{corev1.SchemeGroupVersion.WithResource("pods"), "Pod", "", pod, false},
		kind{corev1.SchemeGroupVersion.WithResource("pods"), "Pod", "status", pod, false},
		kind{appsv1.SchemeGroupVersion.WithResource("deployments"), "Deployment", "", deployment, false},
		kind{schema.GroupVersionResource{Group: "extensions", Version: "v1beta1", Resource: "deployments"}, "Deployment", "", deployment, false},
		kind{corev1.SchemeGroupVersion.WithResource("namespaces"), "Namespace", "", func() runtime.Object {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: labels()}}
		}, true},
	)
	operation := pick(random, admission.Create, admission.Update, admission.Delete)
	var object, old runtime.Object
	if operation != admission.Delete {
		object = k.object()
	}
	if operation != admission.Create {
		old = k.object()
	}
	in := pick(random, namespace, namespace, namespace, "missing")
	if k.cluster {
		in = pick(random, "", namespace)
	}
	return admission.NewAttributesRecord(object, old, k.GroupVersion().WithKind(k.name), in, "name", k.GroupVersionResource, k.subresource,
		operation, nil, false, &user.DefaultInfo{Name: "alice"})
}

// A verdict names the field that decided, and the values that were compared.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	_, explainer := explained(t)
	rule := func(change func(*admissionregistrationv1.RuleWithOperations)) []admissionregistrationv1.RuleWithOperations {
		r := admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}
		change(&r)
		return []admissionregistrationv1.RuleWithOperations{r}
	}
	unchanged := rule(func(*admissionregistrationv1.RuleWithOperations) {})
	tests := []struct {
		name, reason string
		hook         admissionregistrationv1.MutatingWebhook
		want         trace.Verdict
	}{
		{
			"the closest rule explains", "a rule for another group says less than one that lacks the operation",
			admissionregistrationv1.MutatingWebhook{Rules: slices.Concat(
				rule(func(r *admissionregistrationv1.RuleWithOperations) {
					r.APIGroups, r.Resources = []string{"apps"}, []string{"deployments"}
				}),
				rule(func(r *admissionregistrationv1.RuleWithOperations) {
					r.Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Update}
				}),
			)},
			trace.Verdict{Reason: trace.RuleOperation, Field: "webhooks[0].rules[1].operations", Want: `["UPDATE"]`, Got: "CREATE"},
		},
		{
			"all parts that differ", "a fix of the first field alone wouldn't help",
			admissionregistrationv1.MutatingWebhook{
				Rules:             unchanged,
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"runlevel": "1"}},
				ObjectSelector:    &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}},
			},
			trace.Verdict{
				Reason: trace.NamespaceSelector, Field: `webhooks[0].namespaceSelector.matchLabels["runlevel"]`, Want: "runlevel=1",
				Got: `namespace "webhook-test" has runlevel=0`, Also: []string{"webhooks[0].objectSelector.matchExpressions[0]"},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.hook.NamespaceSelector == nil {
				test.hook.NamespaceSelector = &metav1.LabelSelector{}
			}
			if test.hook.ObjectSelector == nil {
				test.hook.ObjectSelector = &metav1.LabelSelector{}
			}
			attributes := admission.NewAttributesRecord(&corev1.Pod{}, nil, corev1.SchemeGroupVersion.WithKind("Pod"), namespace, "name",
				corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, nil, false, nil)
			hook := webhook.NewMutatingWebhookAccessor("uid", "configuration", &test.hook)
			got := explainer.explain(t.Context(), candidate{hook: hook, attributes: attributes, interfaces: equivalents()}.matching("webhooks[0]"))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
