package statefulset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// count counts pods in the status.
func (u *update) count(pods []*corev1.Pod) {
	u.status = appsv1.StatefulSetStatus{
		ObservedGeneration: u.set.Generation, CurrentRevision: u.current.Name, UpdateRevision: u.next.Name,
		CollisionCount: u.status.CollisionCount, Conditions: u.set.Status.Conditions,
	}
	for _, pod := range pods {
		if !exists(pod) {
			continue
		}
		u.status.Replicas++
		if pod.Status.Phase == corev1.PodRunning && owned.IsReady(pod) {
			u.status.ReadyReplicas++
			if owned.IsAvailable(pod, u.set.Spec.MinReadySeconds, u.now) {
				u.status.AvailableReplicas++
			}
		}
		if pod.DeletionTimestamp != nil {
			continue
		}
		revision := pod.Labels[appsv1.StatefulSetRevisionLabel]
		if revision == u.current.Name {
			u.status.CurrentReplicas++
		}
		if revision == u.next.Name {
			u.status.UpdatedReplicas++
		}
	}
}

// writeStatus writes the status if it has changed. When all pods have the next revision and are ready, it becomes the current
// one.
func (u *update) writeStatus(ctx context.Context) error {
	size := *u.set.Spec.Replicas
	if u.status.UpdatedReplicas == size && u.status.ReadyReplicas == size && u.status.Replicas == size {
		u.status.CurrentReplicas, u.status.CurrentRevision = u.status.UpdatedReplicas, u.status.UpdateRevision
	}
	if equality.Semantic.DeepEqual(u.status, u.set.Status) {
		return nil
	}
	changed := u.set.DeepCopy()
	changed.Status = u.status
	_, err := u.Client.StatefulSets(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
