package integration_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The pods of a StatefulSet have stable names and claims. They are created in order, each when the one before is ready, and
// updated in the opposite order.
func TestStatefulSet(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("statefulset-controller"))
	client := srv.Client()
	sets, pods := client.AppsV1().StatefulSets("default"), client.CoreV1().Pods("default")
	template := podTemplate("db")
	template.Spec.TerminationGracePeriodSeconds = new(int64(0))
	must(sets.Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}},
		},
	}, metav1.CreateOptions{}))(t)
	for n := range 2 {
		created := podsOf(t, client, "db", n+1)
		if want := fmt.Sprintf("db-%d", n); created[n].Name != want || created[n].Labels["apps.kubernetes.io/pod-index"] != fmt.Sprint(n) {
			t.Fatalf("want pod %s, got %s with the labels %v", want, created[n].Name, created[n].Labels)
		}
		must(client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), fmt.Sprintf("data-db-%d", n), metav1.GetOptions{}))(t)
		ready(t, client, created[n])
	}
	settled := func(description string, settled func(appsv1.StatefulSetStatus) bool) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			set, err := sets.Get(ctx, "db", metav1.GetOptions{})
			if err != nil || !settled(set.Status) {
				return fmt.Errorf("want %s, got %+v, %w", description, set.Status, orNone(err))
			}
			return nil
		})
	}
	settled("one revision with 2 ready pods", func(s appsv1.StatefulSetStatus) bool {
		return s.ReadyReplicas == 2 && s.CurrentReplicas == 2 && s.CurrentRevision == s.UpdateRevision
	})

	must(sets.Patch(t.Context(), "db", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"new"}]}}}}`), metav1.PatchOptions{}))(t)
	for _, name := range []string{"db-1", "db-0"} {
		eventually(t, func(ctx context.Context) error {
			pod, err := pods.Get(ctx, name, metav1.GetOptions{})
			if err != nil || pod.Spec.Containers[0].Image != "new" {
				return fmt.Errorf("want the new image in pod %s, got %+v, %w", name, pod.Spec.Containers, orNone(err))
			}
			return nil
		})
		ready(t, client, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	settled("the new revision with 2 ready pods", func(s appsv1.StatefulSetStatus) bool {
		return s.ReadyReplicas == 2 && s.UpdatedReplicas == 2 && s.CurrentRevision == s.UpdateRevision
	})
	if history := must(client.AppsV1().ControllerRevisions("default").List(t.Context(), metav1.ListOptions{}))(t).Items; len(history) != 2 {
		t.Errorf("want a ControllerRevision of each template, got %v", history)
	}
}
