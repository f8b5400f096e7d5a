package integration_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A DaemonSet has a pod for each node that its pods tolerate. A change of the nodes or of the template changes the pods.
func TestDaemonSet(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("daemonset-controller"))
	client := srv.Client()
	nodes, sets := client.CoreV1().Nodes(), client.AppsV1().DaemonSets("default")
	// join creates a node that is ready: a new node has a taint until it is.
	join := func(name string) {
		t.Helper()
		must(nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
		must(nodes.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}))(t)
	}
	join("a")
	join("b")
	template := podTemplate("agent")
	template.Spec.TerminationGracePeriodSeconds = new(int64(0))
	must(sets.Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, metav1.CreateOptions{}))(t)
	settled := func(desired, ready, updated int32) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			set, err := sets.Get(ctx, "agent", metav1.GetOptions{})
			if s := set.Status; err != nil || s.DesiredNumberScheduled != desired || s.NumberReady != ready || s.UpdatedNumberScheduled != updated {
				return fmt.Errorf("want %d pods, %d ready and %d updated, got %+v, %w", desired, ready, updated, s, orNone(err))
			}
			return nil
		})
	}
	// bind makes each pod run on its node, as the scheduler and a kubelet do.
	bind := func(pods []corev1.Pod) {
		t.Helper()
		for _, pod := range pods {
			if pod.Spec.NodeName == "" {
				node := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
				ok(t, client.CoreV1().Pods("default").Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{}))
				ready(t, client, pod)
			}
		}
	}
	bind(podsOf(t, client, "agent", 2))
	settled(2, 2, 2)

	join("c")
	bind(podsOf(t, client, "agent", 3))
	settled(3, 3, 3)
	must(nodes.Patch(t.Context(), "c", types.StrategicMergePatchType, []byte(`{"spec":{"taints":[{"key":"dedicated","effect":"NoExecute"}]}}`), metav1.PatchOptions{}))(t)
	podsOf(t, client, "agent", 2)
	settled(2, 2, 2)

	must(sets.Patch(t.Context(), "agent", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"new"}]}}}}`), metav1.PatchOptions{}))(t)
	for n := range 2 {
		settled(2, 1, int32(n+1)) // one pod at a time is replaced, and isn't ready
		bind(podsOf(t, client, "agent", 2))
	}
	settled(2, 2, 2)
	for _, pod := range podsOf(t, client, "agent", 2) {
		if pod.Spec.Containers[0].Image != "new" {
			t.Errorf("want the new image in all pods, got %s in %s", pod.Spec.Containers[0].Image, pod.Name)
		}
	}
}
