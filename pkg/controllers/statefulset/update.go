package statefulset

import (
	"cmp"
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// update is a step of the work on a StatefulSet.
type update struct {
	*controller
	set    *appsv1.StatefulSet
	now    time.Time
	status appsv1.StatefulSetStatus
	// current is the revision from which the StatefulSet is updated, and next the one to which. They are the same after
	// an update.
	current, next *revision
	// replicas has the wanted pods by ordinal. A pod that doesn't exist has no phase. surplus has the other pods of the
	// StatefulSet, from the last ordinal to the first.
	replicas, surplus []*corev1.Pod
}

// step makes the changes that are due, and writes the status.
func (u *update) step(ctx context.Context, pods []*corev1.Pod, history []*appsv1.ControllerRevision) error {
	if err := u.findRevisions(ctx, history); err != nil {
		return err
	}
	u.count(pods)
	u.arrange(pods)
	var err error
	if u.set.DeletionTimestamp == nil {
		err = u.change(ctx)
	}
	if statusErr := u.writeStatus(ctx); err == nil {
		err = statusErr
	}
	return err
}

// arrange sorts the pods into wanted and surplus ones.
func (u *update) arrange(pods []*corev1.Pod) {
	first, end := ordinals(u.set)
	u.replicas = make([]*corev1.Pod, end-first)
	for _, pod := range pods {
		if isWanted(u.set, pod) {
			u.replicas[ordinalOf(pod)-first] = pod
		} else {
			u.surplus = append(u.surplus, pod)
		}
	}
	for i := range u.replicas {
		if u.replicas[i] == nil {
			u.replicas[i] = newPod(u.set, first+i, u.revisionOf(first+i))
		}
	}
	slices.SortFunc(u.surplus, func(a, b *corev1.Pod) int { return cmp.Compare(ordinalOf(b), ordinalOf(a)) })
}

// revisionOf returns the revision of a new pod with an ordinal.
func (u *update) revisionOf(ordinal int) *revision {
	first, _ := ordinals(u.set)
	strategy := u.set.Spec.UpdateStrategy
	var old int
	switch {
	case strategy.RollingUpdate != nil:
		old = partition(u.set)
	case strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType:
		old = int(u.set.Status.CurrentReplicas)
	}
	if ordinal < first+old {
		return u.current
	}
	return u.next
}

// partition returns the number of pods at the beginning that a rolling update leaves at their revision.
func partition(set *appsv1.StatefulSet) int {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		return int(*rolling.Partition)
	}
	return 0
}

// change creates, corrects and deletes pods. An ordered StatefulSet makes one change, and none while a pod isn't available.
func (u *update) change(ctx context.Context) error {
	ordered := u.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	unhealthy := u.firstUnavailable()
	for _, work := range []struct {
		pods []*corev1.Pod
		do   func(ctx context.Context, pod *corev1.Pod, ordered bool) (stop bool, err error)
	}{
		{u.replicas, u.maintain},
		{u.surplus, func(ctx context.Context, pod *corev1.Pod, _ bool) (bool, error) {
			return false, u.retainSurplus(ctx, pod)
		}},
		{u.surplus, func(ctx context.Context, pod *corev1.Pod, ordered bool) (bool, error) {
			return u.remove(ctx, pod, ordered && pod != unhealthy, ordered)
		}},
	} {
		stop, err := forAll(work.pods, ordered, func(pod *corev1.Pod) (bool, error) { return work.do(ctx, pod, ordered) })
		if stop || err != nil {
			u.count(slices.Concat(u.replicas, u.surplus))
			return err
		}
	}
	u.count(slices.Concat(u.replicas, u.surplus))
	if u.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	return u.roll(ctx, ordered)
}

// forAll calls do with the pods, in their order until a call stops, or several at the same time.
func forAll(pods []*corev1.Pod, ordered bool, do func(*corev1.Pod) (stop bool, err error)) (stop bool, err error) {
	if !ordered {
		_, err := owned.SlowStart(len(pods), func(i int) error {
			_, err := do(pods[i])
			return err
		})
		return false, err
	}
	for _, pod := range pods {
		if stop, err := do(pod); stop || err != nil {
			return stop, err
		}
	}
	return false, nil
}

func (u *update) isAvailable(pod *corev1.Pod) bool {
	return owned.IsAvailable(pod, u.set.Spec.MinReadySeconds, u.now) && pod.DeletionTimestamp == nil
}

// firstUnavailable returns the wanted pod with the lowest ordinal that isn't available, or else such a surplus pod.
func (u *update) firstUnavailable() *corev1.Pod {
	surplus := slices.Clone(u.surplus)
	slices.Reverse(surplus)
	for _, pod := range slices.Concat(u.replicas, surplus) {
		if !u.isAvailable(pod) {
			return pod
		}
	}
	return nil
}

func exists(pod *corev1.Pod) bool { return pod.Status.Phase != "" }

// maintain creates a wanted pod, replaces it if it has ended, and corrects its identity and its claims. It stops an ordered
// StatefulSet at a pod that isn't available.
func (u *update) maintain(ctx context.Context, pod *corev1.Pod, ordered bool) (stop bool, err error) {
	switch {
	case owned.HasEnded(pod):
		if pod.DeletionTimestamp == nil {
			err = u.delete(ctx, pod)
		}
		return true, err
	case !exists(pod):
		if u.waitsForClaim(u.set, pod) {
			return true, nil
		}
		if err := u.create(ctx, pod); err != nil || ordered {
			return true, err
		}
	case pod.Status.Phase == corev1.PodPending:
		if err := u.createClaims(ctx, u.set, pod); err != nil {
			return true, err
		}
		if err := u.retain(ctx, u.set, pod); err != nil {
			u.tell("Update", pod, err)
			return true, err
		}
	}
	if ordered && (pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning || !u.isAvailable(pod)) {
		return true, nil
	}
	return false, u.correct(ctx, pod)
}

func (u *update) retainSurplus(ctx context.Context, pod *corev1.Pod) error {
	if u.areRetained(u.set, pod) {
		return nil
	}
	return u.retain(ctx, u.set, pod)
}

// remove deletes a surplus pod. If waits is true, the pod must be available before.
func (u *update) remove(ctx context.Context, pod *corev1.Pod, waits, ordered bool) (stop bool, err error) {
	switch {
	case pod.DeletionTimestamp != nil:
		return ordered, nil
	case waits && (pod.Status.Phase != corev1.PodRunning || !u.isAvailable(pod)):
		return true, nil
	}
	return true, u.delete(ctx, pod)
}

// roll deletes pods of old revisions, from the last ordinal to the partition, as far as not too many are unavailable. The
// next steps create them again. A parallel StatefulSet first deletes those that aren't available anyway.
func (u *update) roll(ctx context.Context, ordered bool) error {
	first := min(partition(u.set), len(u.replicas))
	room := maxUnavailable(u.set)
	for _, pod := range u.replicas {
		if !u.isAvailable(pod) {
			room--
		}
	}
	isOld := func(pod *corev1.Pod) bool {
		return pod.Labels[appsv1.StatefulSetRevisionLabel] != u.next.Name && pod.DeletionTimestamp == nil
	}
	if !ordered {
		for _, pod := range slices.Backward(u.replicas[first:]) {
			if isOld(pod) && !u.isAvailable(pod) {
				if err := u.delete(ctx, pod); err != nil {
					return err
				}
				u.status.CurrentReplicas--
			}
		}
	}
	for _, pod := range slices.Backward(u.replicas[first:]) {
		if room <= 0 {
			return nil
		}
		if isOld(pod) && (ordered || u.isAvailable(pod)) {
			if err := u.delete(ctx, pod); err != nil {
				return err
			}
			u.status.CurrentReplicas--
			room--
		}
	}
	return nil
}

// maxUnavailable returns the number of pods that may be unavailable during an update, which is at least 1.
func maxUnavailable(set *appsv1.StatefulSet) int {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(rolling.MaxUnavailable, intstr.FromInt32(1)), int(*set.Spec.Replicas), false)
	if err != nil {
		return 1 // the server has validated the value
	}
	return max(n, 1)
}
