package explain_test

import (
	"math/rand/v2"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// The explanation and k8s.io/apiserver agree whether constraints match. The test compares random constraints of
// policies with random requests.
func TestExplanationsAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := known.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "known", Labels: map[string]string{"runlevel": "0"}}}); err != nil {
		t.Fatal(err)
	}
	lister, client := corelisters.NewNamespaceLister(known), fake.NewClientset()
	library := generic.NewPolicyMatcher(matching.NewMatcher(lister, client))
	explainer := &explain.Explainer{}
	explainer.Namespaces.NamespaceLister, explainer.Namespaces.Client = lister, client

	seen := map[trace.Reason]int{}
	random := rand.New(rand.NewPCG(1, 2)) // a fixed seed: each run has the same cases
	for range 5000 {
		resources, attributes := randomResources(random), randomRequest(random)
		policy := validating.NewValidatingAdmissionPolicyAccessor(&validating.Policy{
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: resources},
		})
		matches, resource, kind, err := library.DefinitionMatches(attributes, interfaces(), policy)
		verdict, matched := explainer.Explain(explain.Matching{
			Constraints: explain.Resources(resources), Path: "spec.matchConstraints", Attributes: attributes, Interfaces: interfaces(),
		})
		seen[verdict.Reason]++
		if matches != (matched != nil) || (err != nil) != (verdict.Reason == trace.MatchFailed) {
			t.Fatalf("k8s.io/apiserver matches: %t, error %v; the explanation is %+v\nconstraints %+v\nrequest %+v", matches, err, verdict, resources, attributes)
		}
		if matched != nil && (matched.Resource != resource || matched.Kind != kind) {
			t.Fatalf("k8s.io/apiserver matches %v %v, the explanation %v %v", resource, kind, matched.Resource, matched.Kind)
		}
	}
	for _, reason := range []trace.Reason{
		trace.Matched, trace.RuleGroup, trace.RuleVersion, trace.RuleResource, trace.RuleOperation, trace.RuleName, trace.RuleExcluded,
		trace.MatchPolicyExact, trace.NamespaceSelector, trace.ObjectSelector, trace.MatchFailed,
	} {
		if seen[reason] == 0 {
			t.Errorf("no case has the reason %s: %v", reason, seen)
		}
	}
}

// interfaces returns the ObjectInterfaces of a server on which deployments of two versions are equivalent.
func interfaces() admission.ObjectInterfaces {
	mapper := runtime.NewEquivalentResourceRegistryWithIdentity(func(r schema.GroupResource) string { return "/" + r.Resource })
	for _, version := range []string{"v1", "v1beta1"} {
		gv := schema.GroupVersion{Group: "apps", Version: version}
		mapper.RegisterKindFor(gv.WithResource("deployments"), "", gv.WithKind("Deployment"))
	}
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

func randomResources(random *rand.Rand) *admissionregistrationv1.MatchResources {
	selector := func(key string) *metav1.LabelSelector {
		return pick(random, &metav1.LabelSelector{}, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{key: pick(random, "0", "1")}})
	}
	rules := func(most int) []admissionregistrationv1.NamedRuleWithOperations {
		var rules []admissionregistrationv1.NamedRuleWithOperations
		for range random.IntN(most + 1) {
			rule := admissionregistrationv1.NamedRuleWithOperations{ResourceNames: pick(random, nil, []string{"a"}, []string{"b", "c"})}
			rule.Operations = []admissionregistrationv1.OperationType{pick(random, admissionregistrationv1.Create, admissionregistrationv1.OperationAll)}
			rule.APIGroups = []string{pick(random, "", "apps", "*")}
			rule.APIVersions = []string{pick(random, "v1", "v1beta1", "*")}
			rule.Resources = []string{pick(random, "pods", "deployments", "*")}
			rules = append(rules, rule)
		}
		return rules
	}
	return &admissionregistrationv1.MatchResources{
		ResourceRules: rules(3), ExcludeResourceRules: rules(1),
		NamespaceSelector: selector("runlevel"), ObjectSelector: selector("app"),
		MatchPolicy: pick(random, new(admissionregistrationv1.Exact), new(admissionregistrationv1.Equivalent), nil),
	}
}

func randomRequest(random *rand.Rand) admission.Attributes {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": pick(random, "0", "1")}}}
	kind := pick(random, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	resource := map[string]string{"Pod": "pods", "Deployment": "deployments"}[kind.Kind]
	return admission.NewAttributesRecord(object, nil, kind, pick(random, "known", "known", "missing"), pick(random, "a", "b"),
		kind.GroupVersion().WithResource(resource), "", pick(random, admission.Create, admission.Update), nil, false, &user.DefaultInfo{})
}
