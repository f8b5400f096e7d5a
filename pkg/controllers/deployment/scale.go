package deployment

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// limits returns the numbers of pods that a rolling update may have more, and that may be unavailable. If both are 0,
// because a percentage is small, one pod may be unavailable. Other strategies have no such limits.
func limits(d *appsv1.Deployment) (surge, unavailable int32) {
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate == nil {
		return 0, 0
	}
	scaled := func(value *intstr.IntOrString, roundUp bool) int32 {
		n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(value, intstr.FromInt32(0)), int(*d.Spec.Replicas), roundUp)
		if err != nil {
			return 0 // the server has validated the value
		}
		return int32(n)
	}
	surge, unavailable = scaled(d.Spec.Strategy.RollingUpdate.MaxSurge, true), scaled(d.Spec.Strategy.RollingUpdate.MaxUnavailable, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

func maxSurge(d *appsv1.Deployment) int32 {
	surge, _ := limits(d)
	return surge
}

// minAvailable returns the number of pods that must be available.
func minAvailable(d *appsv1.Deployment) int32 {
	_, unavailable := limits(d)
	return *d.Spec.Replicas - min(unavailable, *d.Spec.Replicas)
}

func sum(sets []*appsv1.ReplicaSet, of func(*appsv1.ReplicaSet) int32) (total int32) {
	for _, set := range sets {
		total += of(set)
	}
	return total
}

// wanted and available return the number of pods that a ReplicaSet should have, and of those that are available.
func wanted(set *appsv1.ReplicaSet) int32    { return *set.Spec.Replicas }
func available(set *appsv1.ReplicaSet) int32 { return set.Status.AvailableReplicas }

// active returns the ReplicaSets that should have pods.
func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	return slices.DeleteFunc(slices.Clone(sets), func(set *appsv1.ReplicaSet) bool { return wanted(set) == 0 })
}

// isScaled reports whether the size of the Deployment has changed since it scaled its ReplicaSets.
func (r *rollout) isScaled() bool {
	return slices.ContainsFunc(active(r.all()), func(set *appsv1.ReplicaSet) bool {
		desired, ok := annotated(set, desiredAnnotation)
		return ok && desired != *r.d.Spec.Replicas
	})
}

// annotated returns a number of pods in an annotation.
func annotated(set *appsv1.ReplicaSet, key string) (int32, bool) {
	n, err := strconv.ParseUint(set.Annotations[key], 10, 31)
	return int32(n), err == nil
}

// scaleAll scales the ReplicaSets of a Deployment that is paused or whose size has changed, and then writes its status.
func (r *rollout) scaleAll(ctx context.Context) error {
	if err := r.distribute(ctx); err != nil {
		return err
	}
	if _, rollsBack := rollbackTo(r.d); r.d.Spec.Paused && !rollsBack {
		if err := r.deleteOld(ctx); err != nil {
			return err
		}
	}
	return r.writeStatus(ctx, r.status())
}

// distribute gives the pods of the Deployment to its ReplicaSets. If several have pods during a rolling update, each gets
// its share of the change, so that a scaling doesn't hasten the update.
func (r *rollout) distribute(ctx context.Context) error {
	sets := r.all()
	active := active(sets)
	switch {
	case len(sets) == 0:
		return nil
	case len(active) == 0 && r.newest != nil:
		return r.scale(ctx, r.newest, *r.d.Spec.Replicas)
	case len(active) == 0:
		return r.scale(ctx, sets[len(sets)-1], *r.d.Spec.Replicas)
	case len(active) == 1:
		return r.scale(ctx, active[0], *r.d.Spec.Replicas)
	case r.isSaturated():
		for _, set := range active {
			if set != r.newest {
				if err := r.scale(ctx, set, 0); err != nil {
					return err
				}
			}
		}
		return nil
	case r.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType:
		return nil
	}
	for i, size := range shares(r.d, active) {
		if _, err := r.resize(ctx, active[i], size); err != nil {
			return err
		}
	}
	return nil
}

// isSaturated reports whether the newest ReplicaSet has all pods of the Deployment, and all of them are available.
func (r *rollout) isSaturated() bool {
	if r.newest == nil {
		return false
	}
	desired, ok := annotated(r.newest, desiredAnnotation)
	size := *r.d.Spec.Replicas
	return ok && desired == size && wanted(r.newest) == size && available(r.newest) == size
}

// shares sorts ReplicaSets by size, and returns their new sizes. The largest ReplicaSet gets what is left by rounding.
func shares(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) []int32 {
	var allowed int32
	if *d.Spec.Replicas > 0 {
		allowed = *d.Spec.Replicas + maxSurge(d)
	}
	left := allowed - sum(sets, wanted)
	grows := left > 0
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		byAge := older(a, b)
		if grows {
			byAge = older(b, a)
		}
		return cmp.Or(cmp.Compare(wanted(b), wanted(a)), byAge)
	})
	sizes := make([]int32, len(sets))
	for i, set := range sets {
		var change int32
		switch {
		case left == 0:
		case grows:
			change = min(share(d, set), left)
		default:
			change = max(share(d, set), left)
		}
		sizes[i] = wanted(set) + change
		left -= change
	}
	sizes[0] = max(0, sizes[0]+left)
	return sizes
}

// share returns the change of a ReplicaSet's size that is proportional to the change of the Deployment's.
func share(d *appsv1.Deployment, set *appsv1.ReplicaSet) int32 {
	if *d.Spec.Replicas == 0 {
		return -wanted(set)
	}
	before, ok := annotated(set, maxAnnotation)
	if !ok || before == 0 {
		before = d.Status.Replicas
	}
	if before == 0 {
		return 0
	}
	return int32(math.Round(float64(wanted(set)*(*d.Spec.Replicas+maxSurge(d)))/float64(before))) - wanted(set)
}

// scale gives a ReplicaSet another size. It does nothing if the ReplicaSet has that size.
func (r *rollout) scale(ctx context.Context, set *appsv1.ReplicaSet, size int32) error {
	if wanted(set) == size {
		return nil
	}
	_, err := r.resize(ctx, set, size)
	return err
}

// resize gives a ReplicaSet a size and the annotations of the Deployment's size, and returns the written ReplicaSet.
func (r *rollout) resize(ctx context.Context, set *appsv1.ReplicaSet, size int32) (*appsv1.ReplicaSet, error) {
	before, resized := wanted(set), set.DeepCopy()
	resized.Spec.Replicas = &size
	if !setReplicaAnnotations(resized, r.d) && before == size {
		return set, nil
	}
	updated, err := r.Client.ReplicaSets(set.Namespace).Update(ctx, resized, metav1.UpdateOptions{})
	if err != nil || before == size {
		return updated, err
	}
	direction := "up"
	if size < before {
		direction = "down"
	}
	r.Events.Tell(r.d, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, set.Name, before, size)
	return updated, nil
}
