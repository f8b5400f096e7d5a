package scheduler_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func startedAt(second int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.StartTime = new(metav1.Unix(second, 0)) }
}

func budget(name, of string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selecting(of)},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// victims returns the names of the pods of a set that don't exist any more, once the waiting pod has a node.
func (w *world) victims(t *testing.T, waiting string, pods []*corev1.Pod) (gone []string, node string) {
	t.Helper()
	node = w.bound(t.Context(), t, waiting)
	for _, pod := range pods {
		if _, err := w.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{}); err != nil {
			gone = append(gone, pod.Name)
		}
	}
	return gone, node
}

// Preemption deletes the pods that kube-scheduler would delete.
func TestPreemption(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		nodes        []string
		pods         []*corev1.Pod
		others       []runtime.Object
		pod          *corev1.Pod
		node         string
		want         []string
	}{
		{"lower priority", "it is less important", []string{"n1"}, []*corev1.Pod{newPod("a", cpu("3"), on("n1"))}, nil,
			newPod("p", cpu("3"), priority(1)), "n1", []string{"a"}},
		{"as few as possible", "without the larger pod there is room enough", []string{"n1"},
			[]*corev1.Pod{newPod("a", cpu("1"), on("n1"), priority(5)), newPod("b", cpu("3"), on("n1"))}, nil,
			newPod("p", cpu("3"), priority(10)), "n1", []string{"b"}},
		{"the least important node", "the victim on the other node has a higher priority", []string{"n1", "n2"},
			[]*corev1.Pod{newPod("a", cpu("3"), on("n1"), priority(5)), newPod("b", cpu("3"), on("n2"), priority(1))}, nil,
			newPod("p", cpu("3"), priority(10)), "n2", []string{"b"}},
		{"the fewest victims", "the other node would lose two", []string{"n1", "n2"},
			[]*corev1.Pod{newPod("a", cpu("2"), on("n1")), newPod("b", cpu("2"), on("n1")), newPod("c", cpu("4"), on("n2"))}, nil,
			newPod("p", cpu("4"), priority(10)), "n2", []string{"c"}},
		{"the latest start", "the pod of the other node has run for longer", []string{"n1", "n2"},
			[]*corev1.Pod{newPod("a", cpu("4"), on("n1"), startedAt(1)), newPod("b", cpu("4"), on("n2"), startedAt(2))}, nil,
			newPod("p", cpu("4"), priority(10)), "n2", []string{"b"}},
		{"budget of another node", "the budget allows no disruption", []string{"n1", "n2"},
			[]*corev1.Pod{newPod("a", cpu("4"), on("n1"), app("x")), newPod("b", cpu("4"), on("n2"), priority(5))},
			[]runtime.Object{budget("x", "x", 0)}, newPod("p", cpu("4"), priority(10)), "n2", []string{"b"}},
		{"budget of the same node", "the other pod is spared last", []string{"n1"},
			[]*corev1.Pod{newPod("a", cpu("2"), on("n1"), app("x")), newPod("b", cpu("2"), on("n1"), priority(5))},
			[]runtime.Object{budget("x", "x", 0)}, newPod("p", cpu("2"), priority(10)), "n1", []string{"b"}},
		{"violated budget", "there is no other way", []string{"n1"}, []*corev1.Pod{newPod("a", cpu("4"), on("n1"), app("x"))},
			[]runtime.Object{budget("x", "x", 0)}, newPod("p", cpu("4"), priority(10)), "n1", []string{"a"}},
		{"anti-affinity", "the victim's term keeps the pod away", []string{"n1"}, []*corev1.Pod{newPod("a", awayFrom(host, "x"), on("n1")), newPod("b", on("n1"))}, nil,
			newPod("p", app("x"), priority(10)), "n1", []string{"a"}},
		{"port", "the victim has the port", []string{"n1"}, []*corev1.Pod{newPod("a", hostPort("", 80), on("n1")), newPod("b", on("n1"))}, nil,
			newPod("p", hostPort("", 80), priority(10)), "n1", []string{"a"}},
		{"claim", "the victim has the claim for itself", []string{"n1", "n2"}, []*corev1.Pod{newPod("a", claiming("c"), on("n2")), newPod("b", on("n1"))},
			[]runtime.Object{newClaim("c", "", boundTo("v"), exclusive), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}},
			newPod("p", claiming("c"), priority(10)), "n2", []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			objects := append([]runtime.Object{test.pod}, test.others...)
			for _, node := range test.nodes {
				objects = append(objects, newNode(node))
			}
			for _, pod := range test.pods {
				objects = append(objects, pod)
			}
			w := newWorld(t, objects...)
			gone, node := w.victims(t, "p", test.pods)
			if !slices.Equal(gone, test.want) || node != test.node {
				t.Errorf("%s: want the victims %q and the node %s, got %q and %s", test.reason, test.want, test.node, gone, node)
			}
		})
	}
}

// A pod that may not preempt others waits.
func TestPreemptionPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newPod("a", cpu("3"), on("n1")), newPod("p", cpu("3"), priority(1), func(pod *corev1.Pod) {
		pod.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	}))
	_, condition := w.decided(t.Context(), t, "p")
	const want = "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
	if condition == nil || condition.Message != want {
		t.Errorf("want the message %q, got %v", want, condition)
	}
}

// While its victims terminate, a pod is nominated for their node, and pods of its priority or less don't get the node.
func TestNomination(t *testing.T) {
	t.Parallel()
	terminating := newPod("a", cpu("3"), on("n1"), func(pod *corev1.Pod) {
		pod.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(time.Hour)))
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
	})
	preemptor := newPod("p", cpu("3"), priority(10), func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "n1" })
	w := newWorld(t, newNode("n1"), terminating, preemptor, newPod("q", cpu("2"), priority(9)))
	for name, want := range map[string]string{
		"p": "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node.",
		"q": "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu.",
	} {
		if node, condition := w.decided(t.Context(), t, name); condition == nil || condition.Message != want {
			t.Errorf("pod %s: want the message %q, got node %q and condition %v", name, want, node, condition)
		}
	}
	if err := w.CoreV1().Pods(terminating.Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if node := w.bound(t.Context(), t, "p"); node != "n1" {
		t.Errorf("want the preemptor to get the node n1, got %q", node)
	}
}

// A victim gets the condition DisruptionTarget before it is deleted.
func TestConditionOfVictim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newPod("a", cpu("3"), on("n1")), newPod("p", cpu("3"), priority(1)))
	w.bound(t.Context(), t, "p")
	var patches []string
	for _, action := range w.Actions() {
		if patch, ok := action.(interface {
			GetName() string
			GetPatch() []byte
		}); ok && patch.GetName() == "a" {
			patches = append(patches, string(patch.GetPatch()))
		}
	}
	if len(patches) != 1 || !containsAll(patches[0], `"type":"DisruptionTarget"`, `"reason":"PreemptionByScheduler"`,
		`"message":"default-scheduler: preempting to accommodate a higher priority pod"`, `"uid":"a"`) {
		t.Errorf("want one patch with the condition DisruptionTarget, got %q", patches)
	}
}
