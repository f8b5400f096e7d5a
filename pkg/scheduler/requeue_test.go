package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
)

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// bound waits until a pod has a node, and returns the node.
func (w *world) bound(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	return w.await(ctx, t, name, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }).Spec.NodeName
}

// A refused pod is scheduled when a change helps it.
func TestRequeue(t *testing.T) {
	t.Parallel()
	taint := []byte(`{"spec":{"taints":null}}`)
	patchNode := func(patch []byte) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Nodes().Patch(ctx, "n1", types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		}
	}
	patchPod := func(patch string) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, "p", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		}
	}
	deletePod := func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, "q", metav1.DeleteOptions{})
	}
	newPodOnNode := func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, newPod("r", app("x"), on("n1")), metav1.CreateOptions{})
		return err
	}
	newPodToSchedule := func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, newPod("r", app("x")), metav1.CreateOptions{})
		return err
	}
	for _, test := range []struct {
		name, reason string
		objects      []runtime.Object
		pod          *corev1.Pod
		change       func(context.Context, kubernetes.Interface) error
	}{
		{"new node", "there was none", nil, newPod("p"), func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Nodes().Create(ctx, newNode("n1"), metav1.CreateOptions{})
			return err
		}},
		{"larger node", "the pod fits now", []runtime.Object{newNode("n1")}, newPod("p", cpu("5")), patchNode([]byte(`{"status":{"allocatable":{"cpu":"6"}}}`))},
		{"taint removed", "the pod doesn't tolerate the taint", []runtime.Object{newNode("n1", tainted("k", corev1.TaintEffectNoSchedule))}, newPod("p"), patchNode(taint)},
		{"label added", "the pod selects the label", []runtime.Object{newNode("n1")}, newPod("p", selectingNodes(map[string]string{zone: "a"})),
			patchNode(fmt.Appendf(nil, `{"metadata":{"labels":{%q:"a"}}}`, zone))},
		{"feature declared", "the kubelet is newer", []runtime.Object{newNode("n1")}, newPod("p", restartsAll),
			patchNode([]byte(`{"status":{"declaredFeatures":["RestartAllContainersOnContainerExits"]}}`))},
		{"uncordoned", "the node was unschedulable", []runtime.Object{newNode("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true })}, newPod("p"),
			patchNode([]byte(`{"spec":{"unschedulable":false}}`))},
		{"deleted pod", "its resources are free", []runtime.Object{newNode("n1"), newPod("q", cpu("3"), on("n1"))}, newPod("p", cpu("3")), deletePod},
		{"ended pod", "its resources are free", []runtime.Object{newNode("n1"), newPod("q", cpu("3"), on("n1"))}, newPod("p", cpu("3")),
			func(ctx context.Context, client kubernetes.Interface) error {
				_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, "q", types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{})
				return err
			}},
		{"port freed", "the other pod is gone", []runtime.Object{newNode("n1"), newPod("q", hostPort("", 80), on("n1"))}, newPod("p", hostPort("", 80)), deletePod},
		{"claim released", "the other pod is gone", []runtime.Object{
			newNode("n1", inZone("a")), newClaim("c", "", boundTo("v"), exclusive), newVolume("v", "", "a"), newPod("q", claiming("c"), on("n1")),
		}, newPod("p", claiming("c")), deletePod},
		{"volume detached", "a volume can be attached", []runtime.Object{
			newNode("n1"), newCSINode("n1", 1, disks), newClaim("c", "", boundTo("v")), newCSIVolume("v", disks), newCSIVolume("other", disks), newAttachment("other", "n1"),
		}, newPod("p", claiming("c")), func(ctx context.Context, client kubernetes.Interface) error {
			return client.StorageV1().VolumeAttachments().Delete(ctx, "other", metav1.DeleteOptions{})
		}},
		{"volume left", "a volume can be attached", []runtime.Object{
			newNode("n1"), newCSINode("n1", 1, disks), newClaim("c", "", boundTo("v")), newCSIVolume("v", disks),
			newClaim("other", "", boundTo("other")), newCSIVolume("other", disks), newPod("q", claiming("other"), on("n1")),
		}, newPod("p", claiming("c")), deletePod},
		{"limit raised", "another volume can be attached", []runtime.Object{
			newNode("n1"), newCSINode("n1", 0, disks), newClaim("c", "", boundTo("v")), newCSIVolume("v", disks),
		}, newPod("p", claiming("c")), func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.StorageV1().CSINodes().Update(ctx, newCSINode("n1", 1, disks), metav1.UpdateOptions{})
			return err
		}},
		{"feature no longer needed", "every kubelet can do it", []runtime.Object{newNode("n1")}, newPod("p", restartsAll),
			patchPod(`{"spec":{"containers":[{"name":"c"}]}}`)},
		{"anti-affinity", "the other pod is gone", []runtime.Object{newNode("n1"), newPod("q", app("x"), on("n1"))}, newPod("p", awayFrom(host, "x")), deletePod},
		{"affinity", "the other pod is there", []runtime.Object{newNode("n1")}, newPod("p", near(host, "x")), newPodOnNode},
		{"affinity to a pod that waited", "the scheduler has given the other pod its node", []runtime.Object{newNode("n1")}, newPod("p", near(host, "x")), newPodToSchedule},
		{"spread", "both zones have a pod", []runtime.Object{
			newNode("n1", inZone("a")), newNode("n2", inZone("b")), newPod("q", app("x"), on("n2")),
		}, newPod("p", app("x"), spread(zone, "x", func(c *corev1.TopologySpreadConstraint) { c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore) }),
			selectingNodes(map[string]string{zone: "b"})), newPodOnNode},
		{"toleration added", "the pod tolerates the taint now", []runtime.Object{newNode("n1", tainted("k", corev1.TaintEffectNoSchedule))}, newPod("p"),
			patchPod(`{"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}}`)},
		{"gates removed", "nothing holds the pod", []runtime.Object{newNode("n1")}, newPod("p", func(pod *corev1.Pod) {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated}}
		}), patchPod(`{"spec":{"schedulingGates":null}}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, append([]runtime.Object{test.pod}, test.objects...)...)
			if node, _ := w.decided(t.Context(), t, "p"); node != "" {
				t.Fatalf("the pod has node %s before the change", node)
			}
			if err := test.change(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			w.bound(t.Context(), t, "p")
		})
	}
}

// A change that doesn't help a refused pod makes no request: the pod isn't tried again.
func TestChangeWithoutHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newPod("p", cpu("5")))
	w.decided(t.Context(), t, "p")
	small := newNode("n2")
	small.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("1")
	if _, err := w.CoreV1().Nodes().Create(t.Context(), small, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The pod q gets the new node, so the scheduler has seen it.
	if _, err := w.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), newPod("q", named("n2")), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound(t.Context(), t, "q")
	_, condition := w.decided(t.Context(), t, "p")
	if condition == nil || !strings.HasPrefix(condition.Message, "0/1 ") {
		t.Errorf("want the pod not to be tried with two nodes, got %v", condition)
	}
}

// Of the waiting pods, the one with the highest priority gets the node.
func TestOrder(t *testing.T) {
	t.Parallel()
	low, high := newPod("low", cpu("3"), priority(1)), newPod("high", cpu("3"), priority(2))
	w := newWorld(t, newNode("n1"), low, high)
	w.bound(t.Context(), t, "high")
	if node, _ := w.decided(t.Context(), t, "low"); node != "" {
		t.Errorf("want pod low to wait, got node %s", node)
	}
}

// The scheduler leaves pods of other schedulers alone.
func TestOtherScheduler(t *testing.T) {
	t.Parallel()
	other := newPod("other", priority(1), func(pod *corev1.Pod) { pod.Spec.SchedulerName = "other" })
	w := newWorld(t, newNode("n1"), other, newPod("p"))
	w.bound(t.Context(), t, "p") // its priority is lower, so it is scheduled last
	pod, err := w.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "other", metav1.GetOptions{})
	if err != nil || pod.Spec.NodeName != "" || len(pod.Status.Conditions) > 0 {
		t.Errorf("want an untouched pod, got node %q and conditions %v, %v", pod.Spec.NodeName, pod.Status.Conditions, err)
	}
}

// A pod whose binding the server refuses gets a condition, and is bound later.
func TestBindingFails(t *testing.T) {
	t.Parallel()
	failed := make(chan struct{}, 1)
	w := newWorld(t, newNode("n1"))
	w.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		select {
		case failed <- struct{}{}:
			return true, nil, errors.New("no luck")
		default:
			return false, nil, nil
		}
	})
	if _, err := w.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), newPod("p"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, condition := w.decided(t.Context(), t, "p")
	if condition == nil || condition.Reason != corev1.PodReasonSchedulerError || condition.Message != `running Bind plugin "DefaultBinder": no luck` {
		t.Errorf("want a condition with the error, got %v", condition)
	}
	w.bound(t.Context(), t, "p")
}

// After a snapshot from before the binding of a pod is restored, the pod is bound again.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newPod("p"))
	w.bound(t.Context(), t, "p")
	restored := newPod("p", labelled(map[string]string{"restored": "yes"}))
	if err := w.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), restored, metav1.NamespaceDefault); err != nil {
		t.Fatal(err)
	}
	w.forget()
	pod := w.await(t.Context(), t, "p", func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
	if pod.Labels["restored"] == "" {
		t.Error("want the restored pod")
	}
}

// The Events of a pod say what kube-scheduler's Events say.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newPod("a", cpu("3"), on("n1")), newPod("p", cpu("3"), priority(1)))
	w.bound(t.Context(), t, "p")
	want := map[string]bool{
		"p Warning FailedScheduling Scheduling 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims": true,
		"a Normal Preempted Preempting Preempted by pod p on node n1":      true,
		"p Normal Scheduled Binding Successfully assigned default/p to n1": true,
	}
	w.tells(t.Context(), t, want)
}

// tells waits until there are Events about pods, each in the form POD TYPE REASON ACTION NOTE.
func (w *world) tells(ctx context.Context, t *testing.T, want map[string]bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	watched, err := w.EventsV1().Events("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	for {
		list, err := w.EventsV1().Events("").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			event := fmt.Sprintf("%s %s %s %s %s", e.Regarding.Name, e.Type, e.Reason, e.Action, e.Note)
			if e.Related != nil {
				event += " because of " + e.Related.Name
			}
			delete(want, event)
		}
		if len(want) == 0 {
			return
		}
		select {
		case <-watched.ResultChan():
		case <-ctx.Done():
			t.Fatalf("these events are missing: %v, of %v", want, list.Items)
		}
	}
}
