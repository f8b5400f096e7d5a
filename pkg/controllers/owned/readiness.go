package owned

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// HasEnded reports whether the containers of a pod have ended for good.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsActive reports whether a pod counts as a replica of its owner: it hasn't ended, and isn't being deleted.
func IsActive(pod *corev1.Pod) bool { return !HasEnded(pod) && pod.DeletionTimestamp == nil }

// IsTerminating reports whether a pod that hasn't ended is being deleted.
func IsTerminating(pod *corev1.Pod) bool { return !HasEnded(pod) && pod.DeletionTimestamp != nil }

// IsReady reports whether a pod has the condition Ready.
func IsReady(pod *corev1.Pod) bool {
	_, ready := readySince(pod)
	return ready
}

// ReadyAlike reports whether two states of a pod are ready since the same time, or neither is ready.
func ReadyAlike(a, b *corev1.Pod) bool {
	since, ready := readySince(a)
	since2, ready2 := readySince(b)
	return ready == ready2 && since.Equal(since2)
}

// IsAvailable reports whether a pod has been ready for minReadySeconds.
func IsAvailable(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	since, ready := readySince(pod)
	return ready && (minReadySeconds == 0 || !since.IsZero() && !since.Add(seconds(minReadySeconds)).After(now))
}

// NextAvailable returns the time after which the next one of the ready pods becomes available, or 0 if all of them are
// available.
func NextAvailable(pods []*corev1.Pod, minReadySeconds int32, now time.Time) (after time.Duration) {
	for _, pod := range pods {
		since, ready := readySince(pod)
		if !ready || since.IsZero() {
			continue
		}
		if left := since.Add(seconds(minReadySeconds)).Sub(now); left > 0 && (after == 0 || left < after) {
			after = left
		}
	}
	return after
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// readySince returns the time since which a pod is ready. It returns false if the pod isn't ready.
func readySince(pod *corev1.Pod) (time.Time, bool) {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if i < 0 || pod.Status.Conditions[i].Status != corev1.ConditionTrue {
		return time.Time{}, false
	}
	return pod.Status.Conditions[i].LastTransitionTime.Time, true
}
