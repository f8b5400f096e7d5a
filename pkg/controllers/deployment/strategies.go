package deployment

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// replicasOf returns the size that the newest ReplicaSet may have now.
func (r *rollout) replicasOf(newest *appsv1.ReplicaSet) int32 {
	if r.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return *r.d.Spec.Replicas
	}
	room := *r.d.Spec.Replicas + maxSurge(r.d) - sum(r.old, wanted) - wanted(newest)
	return wanted(newest) + max(0, min(room, *r.d.Spec.Replicas-wanted(newest)))
}

// update makes a step of a rolling update: the newest ReplicaSet grows, or old ones shrink.
func (r *rollout) update(ctx context.Context) (time.Duration, error) {
	if err := r.create(ctx); err != nil {
		return 0, err
	}
	size := *r.d.Spec.Replicas
	if wanted(r.newest) < size {
		size = r.replicasOf(r.newest)
	}
	if size != wanted(r.newest) {
		if err := r.scale(ctx, r.newest, size); err != nil {
			return 0, err
		}
		return r.writeProgress(ctx)
	}
	if r.shrinkOld(ctx) {
		return r.writeProgress(ctx)
	}
	return r.finish(ctx)
}

// finish deletes old ReplicaSets if the rollout is complete, and writes the status.
func (r *rollout) finish(ctx context.Context) (time.Duration, error) {
	if isComplete(r.d, &r.d.Status) {
		if err := r.deleteOld(ctx); err != nil {
			return 0, err
		}
	}
	return r.writeProgress(ctx)
}

// shrinkOld shrinks old ReplicaSets as far as enough pods stay available: first by the pods that aren't available. It
// reports whether it has shrunk one. If a ReplicaSet can't be written, the status is written nevertheless; the next event
// of a ReplicaSet tries again.
func (r *rollout) shrinkOld(ctx context.Context) (shrunk bool) {
	old := active(r.old)
	if len(old) == 0 || isLate(r.newest) || slices.ContainsFunc(old, isLate) {
		return false
	}
	minAvailable := minAvailable(r.d)
	room := sum(old, wanted) + wanted(r.newest) - minAvailable - (wanted(r.newest) - available(r.newest))
	if room <= 0 {
		return false
	}
	for i, set := range old {
		n := min(room, wanted(set)-available(set))
		if n <= 0 {
			continue
		}
		resized, err := r.resize(ctx, set, wanted(set)-n)
		if err != nil {
			return false
		}
		old[i], room, shrunk = resized, room-n, true
	}
	room = sum(old, available) + available(r.newest) - minAvailable
	for _, set := range old {
		n := min(room, wanted(set))
		if n <= 0 {
			continue
		}
		if r.scale(ctx, set, wanted(set)-n) != nil {
			return false
		}
		room, shrunk = room-n, true
	}
	return shrunk
}

// isLate reports whether the status of a ReplicaSet is older than its size: it counts pods that are about to go.
func isLate(set *appsv1.ReplicaSet) bool {
	return set.Generation > set.Status.ObservedGeneration || available(set) > wanted(set)
}

// recreate ends all old pods, and then creates the new ones.
func (r *rollout) recreate(ctx context.Context) (time.Duration, error) {
	shrinking := active(r.old)
	for _, set := range shrinking {
		if err := r.scale(ctx, set, 0); err != nil {
			return 0, err
		}
	}
	if len(shrinking) > 0 || slices.ContainsFunc(r.old, r.runs) {
		return r.writeProgress(ctx)
	}
	if err := r.create(ctx); err != nil {
		return 0, err
	}
	if err := r.scale(ctx, r.newest, *r.d.Spec.Replicas); err != nil {
		return 0, err
	}
	return r.finish(ctx)
}

// runs reports whether a ReplicaSet has pods that haven't ended.
func (r *rollout) runs(set *appsv1.ReplicaSet) bool {
	return set.Status.Replicas > 0 || slices.ContainsFunc(owned.Of[*corev1.Pod](r.Pods, set), func(pod *corev1.Pod) bool { return !owned.HasEnded(pod) })
}
