package integration_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/scheduler"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// withScheduler returns an option that runs the scheduler in the server.
func withScheduler() miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) { o.Components = append(o.Components, scheduler.Component) })
}

// createNodes creates nodes that are ready, with 4 CPUs each, in three zones.
func createNodes(t *testing.T, client kubernetes.Interface, count int) {
	t.Helper()
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3)}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110"),
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		node.Spec.Taints = nil // the server gives a new node the taint not-ready
		if _, err := client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// The scheduler spreads the pods of a ReplicaSet over the nodes, and says why a pod gets none.
func TestScheduler(t *testing.T) {
	t.Parallel()
	const nodes, pods = 9, 45
	srv := miniapitest.Start(t, withScheduler())
	client := kubernetes.NewForConfigOrDie(srv.Config())
	createNodes(t, client, nodes)
	labels := map[string]string{"app": "spread"}
	set, err := client.AppsV1().ReplicaSets(metav1.NamespaceDefault).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "spread"},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watched, err := client.CoreV1().Pods(metav1.NamespaceDefault).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watched.Stop)
	for i := range pods {
		if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%d", i), Labels: labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
			},
			Spec: set.Spec.Template.Spec,
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	large := set.Spec.Template.Spec.DeepCopy()
	large.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: *large}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const message = "0/9 nodes are available: 9 Insufficient cpu. preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling."
	perNode, bound := map[string]int{}, map[string]bool{}
	refused := false
	for len(bound) < pods || !refused {
		event, open := <-watched.ResultChan()
		if !open {
			t.Fatalf("%d pods have a node, and the large pod is refused: %t", len(bound), refused)
		}
		pod := event.Object.(*corev1.Pod)
		refused = refused || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && c.Message == message
		}) && slices.ContainsFunc(pod.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
			return m.Manager == "kube-scheduler" && m.Subresource == "status"
		})
		if pod.Spec.NodeName != "" && !bound[pod.Name] {
			bound[pod.Name] = true
			perNode[pod.Spec.NodeName]++
		}
	}
	for node, got := range perNode {
		if got != pods/nodes {
			t.Errorf("want %d pods on each node, got %d on %s", pods/nodes, got, node)
		}
	}
}
