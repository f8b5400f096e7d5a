package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gracefulPodDelete sets the grace period of a deletion. It takes the period from the request or, if the request has
// none, from the spec of the pod. A pod that has no node, or that has ended, is deleted at once.
func gracefulPodDelete(_ context.Context, pod *corev1.Pod, options *metav1.DeleteOptions) bool {
	if options == nil {
		return false
	}
	var seconds int64
	switch {
	case options.GracePeriodSeconds != nil:
		seconds = *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		seconds = *pod.Spec.TerminationGracePeriodSeconds
	}
	finished := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	switch {
	case pod.Spec.NodeName == "" || finished:
		seconds = 0
	case seconds < 0:
		seconds = 1
	}
	options.GracePeriodSeconds = &seconds
	return true
}
