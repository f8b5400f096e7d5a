package pod_test

import (
	"strings"
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

func TestBindingErrors(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	for _, tc := range []struct {
		name, reason string
		target       corev1.ObjectReference
		want         string
	}{
		{"no name", "a binding names its node", corev1.ObjectReference{Kind: "Node"}, "target.name: Required value"},
		{"name", "the name must be possible for a node", corev1.ObjectReference{Name: "A"}, `target.name: Invalid value: "A"`},
		{"kind", "a pod runs on nodes only, and a name of another kind isn't checked", corev1.ObjectReference{Kind: "Pod", Name: "A"},
			`target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Target: tc.target}
			_, err := s.subresource("binding").(rest.NamedCreater).Create(s.Context, "p", binding, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}
