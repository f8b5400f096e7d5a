package daemonset

import (
	"cmp"
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// writeStatus writes the status before the changes of this step, if it has changed. Of each node, the oldest pod counts.
func (r *rollout) writeStatus(ctx context.Context) error {
	status := appsv1.DaemonSetStatus{
		ObservedGeneration: r.set.Generation, CollisionCount: r.set.Status.CollisionCount, Conditions: r.set.Status.Conditions,
	}
	var counted []*corev1.Pod
	for _, node := range r.nodes {
		runs, _ := r.placement.on(node)
		pods := r.pods[node.Name]
		if !runs {
			if len(pods) > 0 {
				status.NumberMisscheduled++
			}
			continue
		}
		status.DesiredNumberScheduled++
		if len(pods) == 0 {
			continue
		}
		pod := pods[0]
		counted = append(counted, pod)
		status.CurrentNumberScheduled++
		if owned.IsReady(pod) {
			status.NumberReady++
		}
		if r.isAvailable(pod) {
			status.NumberAvailable++
		}
		if r.isUpdated(pod) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	if status.NumberReady != status.NumberAvailable {
		minReady := r.set.Spec.MinReadySeconds
		r.repeatAfter(cmp.Or(owned.NextAvailable(counted, minReady, r.now), time.Duration(minReady)*time.Second))
	}
	if equality.Semantic.DeepEqual(status, r.set.Status) {
		return nil
	}
	changed := r.set.DeepCopy()
	changed.Status = status
	_, err := r.Client.DaemonSets(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
