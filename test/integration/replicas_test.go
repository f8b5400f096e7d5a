package integration_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// podTemplate returns a template of pods with a label.
func podTemplate(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}
}

// podsOf waits until a number of pods with a label exist, and returns them. Pods that are being deleted don't count.
func podsOf(t *testing.T, client kubernetes.Interface, app string, n int) (pods []corev1.Pod) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return err
		}
		pods = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		if len(pods) != n {
			return fmt.Errorf("want %d pods of %s, got %d", n, app, len(pods))
		}
		return nil
	})
	return pods
}

// ready gives pods the condition Ready, as a kubelet does.
func ready(t *testing.T, client kubernetes.Interface, pods ...corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		patch := fmt.Sprintf(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]}}`, metav1.Now().UTC().Format("2006-01-02T15:04:05Z"))
		must(client.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"))(t)
	}
}

// A ReplicaSet has as many pods as it asks for. It replaces a pod that is deleted or that no longer has its labels,
// deletes surplus pods, adopts a pod that has no controller, and counts pods in its status.
func TestReplicaSet(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("replicaset-controller"))
	client := srv.Client()
	adopted := podTemplate("web")
	must(client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "adopted", Labels: adopted.Labels}, Spec: adopted.Spec}, metav1.CreateOptions{}))(t)
	sets := client.AppsV1().ReplicaSets("default")
	set := must(sets.Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: adopted.Labels}, Template: adopted},
	}, metav1.CreateOptions{}))(t)
	status := func(replicas, ready int32) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			set, err := sets.Get(ctx, "web", metav1.GetOptions{})
			if err != nil || set.Status.Replicas != replicas || set.Status.ReadyReplicas != ready || set.Status.ObservedGeneration != set.Generation {
				return fmt.Errorf("want %d replicas, %d of them ready, in the status of generation %d, got %+v, %w", replicas, ready, set.Generation, set.Status, orNone(err))
			}
			return nil
		})
	}

	pods := podsOf(t, client, "web", 3)
	for _, pod := range pods {
		if !metav1.IsControlledBy(&pod, set) {
			t.Errorf("want pod %s to belong to the set, got the owners %v", pod.Name, pod.OwnerReferences)
		}
	}
	ready(t, client, pods[0])
	status(3, 1)

	ok(t, client.CoreV1().Pods("default").Delete(t.Context(), pods[1].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	must(client.CoreV1().Pods("default").Patch(t.Context(), pods[2].Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"debug"}}}`), metav1.PatchOptions{}))(t)
	podsOf(t, client, "web", 3)
	if released := podsOf(t, client, "debug", 1)[0]; len(released.OwnerReferences) > 0 {
		t.Errorf("want no owner of a pod whose labels have changed, got %v", released.OwnerReferences)
	}

	must(sets.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{}))(t)
	if left := podsOf(t, client, "web", 1)[0]; left.Name != pods[0].Name {
		t.Errorf("want the ready pod %s to be left, got %s", pods[0].Name, left.Name)
	}
	status(1, 1)
}

// A ReplicationController has as many pods as it asks for.
func TestReplicationController(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("replicationcontroller-controller"))
	client := srv.Client()
	template := podTemplate("web")
	controllers := client.CoreV1().ReplicationControllers("default")
	must(controllers.Create(t.Context(), &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ReplicationControllerSpec{Replicas: new(int32(2)), Selector: template.Labels, Template: &template},
	}, metav1.CreateOptions{}))(t)
	ready(t, client, podsOf(t, client, "web", 2)...)
	eventually(t, func(ctx context.Context) error {
		rc, err := controllers.Get(ctx, "web", metav1.GetOptions{})
		if err != nil || rc.Status.Replicas != 2 || rc.Status.AvailableReplicas != 2 {
			return fmt.Errorf("want 2 available replicas, got %+v, %w", rc.Status, orNone(err))
		}
		return nil
	})
	must(controllers.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}))(t)
	podsOf(t, client, "web", 0)
}
