package owned_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// running returns a ready pod on a node that has been ready for an hour, with some changes.
func running(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	hour := metav1.NewTime(now.Add(-time.Hour))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: hour, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: hour}},
		},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func readyFor(d time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-d)) }
}

func costs(cost string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[corev1.PodDeletionCost] = cost }
}

func restarts(n int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
}

func TestOrder(t *testing.T) {
	t.Parallel()
	ofSets := owned.Order{Costs: true, Colocated: map[string]int{"node": 1, "full": 2}, Now: now}
	for _, test := range []struct {
		name, reason  string
		order         owned.Order
		first, second *corev1.Pod
	}{
		{"unassigned", "no kubelet has the pod yet", ofSets, running("z", func(p *corev1.Pod) { p.Spec.NodeName = "" }), running("a")},
		{"pending", "the pod hasn't begun", ofSets, running("z", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), running("a")},
		{"unknown", "the node doesn't report", ofSets, running("z", func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }), running("a")},
		{"not ready", "the pod serves nobody", ofSets, running("z", func(p *corev1.Pod) { p.Status.Conditions = nil }), running("a")},
		{"cheap", "the annotation says so", ofSets, running("z", costs("-1")), running("a")},
		{"invalid cost", "an invalid cost is none", ofSets, running("a", costs("+10"), readyFor(time.Minute)), running("b")},
		{"cost of a Job's pod", "the annotation is for ReplicaSets", owned.Order{}, running("z", costs("9"), readyFor(time.Minute)), running("a", costs("1"))},
		{"colocated", "the node has more pods of the owner", ofSets, running("z", func(p *corev1.Pod) { p.Spec.NodeName = "full" }), running("a")},
		{"ready later", "the pod is much younger", ofSets, running("z", readyFor(time.Minute)), running("a")},
		{"ready a little later", "times of a magnitude are equal, so the UID decides", ofSets, running("a"), running("z", readyFor(59*time.Minute))},
		{"a Job's pod is ready a little later", "a Job's pods have exact times", owned.Order{}, running("z", readyFor(59*time.Minute)), running("a")},
		{"more restarts", "the pod works worse", ofSets, running("z", restarts(2)), running("a", restarts(1))},
		{"created later", "the pod is younger", ofSets, running("z", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute)) }), running("a")},
		{"unknown creation", "the pod counts as the youngest", ofSets, running("z", func(p *corev1.Pod) { p.CreationTimestamp = metav1.Time{} }), running("a")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, pods := range [][]*corev1.Pod{{test.first, test.second}, {test.second, test.first}} {
				slices.SortFunc(pods, test.order.Compare)
				if pods[0] != test.first {
					t.Errorf("want %s to be deleted first: %s", test.first.Name, test.reason)
				}
			}
		})
	}
}

func TestNextAvailable(t *testing.T) {
	t.Parallel()
	pods := []*corev1.Pod{running("old"), running("new", readyFor(10*time.Second)), running("newer", readyFor(time.Second)), running("never", func(p *corev1.Pod) { p.Status.Conditions = nil })}
	if got := owned.NextAvailable(pods, 60, now); got != 50*time.Second {
		t.Errorf("want the next pod to be available in 50 s, got %s", got)
	}
	if got := owned.NextAvailable(pods[:1], 60, now); got != 0 {
		t.Errorf("want 0 if all ready pods are available, got %s", got)
	}
}
