package job

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// A pod that has failed is replaced after firstBackoff. The delay doubles with each further failure, up to maxBackoff.
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 10 * time.Minute
)

// backoff has the failures of pods since the last success.
type backoff struct {
	failures int
	last     time.Time // the time of the last failure
}

// after returns the backoff after some pods have ended.
func (b backoff) after(succeeded, failed []*corev1.Pod) backoff {
	var success time.Time
	for _, pod := range succeeded {
		b = backoff{}
		if at := endOf(pod); at.After(success) {
			success = at
		}
	}
	for _, pod := range failed {
		at := endOf(pod)
		if len(succeeded) > 0 && !at.After(success) {
			continue
		}
		b.failures++
		if at.After(b.last) {
			b.last = at
		}
	}
	return b
}

// left returns the time until a pod may be created.
func (b backoff) left(now time.Time) time.Duration {
	if b.failures == 0 {
		return 0
	}
	delay := firstBackoff
	for i := 1; i < b.failures && delay < maxBackoff; i++ {
		delay *= 2
	}
	return max(0, min(delay, maxBackoff)-now.Sub(b.last))
}

// endOf returns the time at which a pod has ended: the end of its containers, or the time since which it isn't ready, or
// the time of its deletion. If none of these is known, it returns the time of the pod's creation.
func endOf(pod *corev1.Pod) time.Time {
	if at := endOfContainers(pod); !at.IsZero() {
		return at
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionFalse && !condition.LastTransitionTime.IsZero() {
			return condition.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp != nil {
		return pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
	}
	return pod.CreationTimestamp.Time
}

// endOfContainers returns the time at which the last container of a pod has ended, or the zero time if a container runs.
// Sidecars count as containers.
func endOfContainers(pod *corev1.Pod) (last time.Time) {
	statuses := slices.Clone(pod.Status.ContainerStatuses)
	for _, container := range pod.Spec.InitContainers {
		if ptr.Deref(container.RestartPolicy, "") != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for _, status := range pod.Status.InitContainerStatuses {
			if status.Name == container.Name {
				statuses = append(statuses, status)
			}
		}
	}
	for _, status := range statuses {
		if status.State.Terminated == nil || status.State.Terminated.FinishedAt.IsZero() {
			return time.Time{}
		}
		if at := status.State.Terminated.FinishedAt.Time; at.After(last) {
			last = at
		}
	}
	return last
}
