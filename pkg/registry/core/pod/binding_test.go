package pod_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
)

func TestBindingEndsNomination(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	p := evictable("p", corev1.PodPending, corev1.ConditionFalse)
	p.Spec.NodeName, p.Status.NominatedNodeName = "", "nominated"
	s.Put(corev1.Resource("pods"), p)
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	if _, err := s.subresource("binding").(rest.NamedCreater).Create(s.Context, "p", binding, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bound, err := s.pod("p")
	if err != nil {
		t.Fatal(err)
	}
	if node, nominated := bound.Spec.NodeName, bound.Status.NominatedNodeName; node != "n" || nominated != "" {
		t.Errorf("the pod is on node %q and nominated for %q, want it on n alone", node, nominated)
	}
}

// TestBindingCondition checks that the condition PodScheduled has no observedGeneration, which is for the kubelet to set
// (KEP-5067).
func TestBindingCondition(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	p := evictable("p", corev1.PodPending, corev1.ConditionFalse)
	p.Spec.NodeName, p.Generation, p.Status.ObservedGeneration = "", 1, 1
	s.Put(corev1.Resource("pods"), p)
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	if _, err := s.subresource("binding").(rest.NamedCreater).Create(s.Context, "p", binding, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bound, err := s.pod("p")
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range bound.Status.Conditions {
		if condition.Type == corev1.PodScheduled && (condition.Status != corev1.ConditionTrue || condition.ObservedGeneration != 0) {
			t.Errorf("condition %+v, want true without an observedGeneration", condition)
		}
	}
}
