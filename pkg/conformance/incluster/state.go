package incluster

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// state is the progress of a Deployment.
type state struct {
	// missing is the first thing that the Deployment needs to become ready, or "".
	missing string
	// hopeless says that the Deployment can't become ready even after more time.
	hopeless bool
}

var (
	// hopelessReasons are reasons of a waiting container that the kubelet can't resolve by another try.
	hopelessReasons = []string{"InvalidImageName", "ErrImageNeverPull"}
	// usualReasons are reasons in the status of a container that is starting.
	usualReasons = []string{"", "ContainerCreating", "PodInitializing"}
)

// stateOf finds the first thing that keeps a Deployment from being ready. It uses the status of the newest pod. If
// there is no pod, it uses the status of the Deployment.
func stateOf(deployment *appsv1.Deployment, pods []corev1.Pod) state {
	if deployment.Status.ReadyReplicas > 0 {
		return state{}
	}
	if len(pods) > 0 {
		newest := slices.MaxFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		return stateOfPod(&newest)
	}
	for _, refused := range []struct {
		of appsv1.DeploymentConditionType
		is corev1.ConditionStatus
	}{{appsv1.DeploymentReplicaFailure, corev1.ConditionTrue}, {appsv1.DeploymentProgressing, corev1.ConditionFalse}} {
		for _, c := range deployment.Status.Conditions {
			if c.Type == refused.of && c.Status == refused.is {
				return state{missing: fmt.Sprintf("Deployment %s has no pod: %s: %s", deployment.Name, c.Reason, c.Message)}
			}
		}
	}
	if deployment.Status.ObservedGeneration == 0 {
		return state{missing: fmt.Sprintf("Deployment %s has no pod: no controller has observed the Deployment", deployment.Name)}
	}
	return state{missing: fmt.Sprintf("Deployment %s has no pod yet", deployment.Name)}
}

func stateOfPod(pod *corev1.Pod) state {
	of := func(words, reason, message string) state {
		s := state{missing: fmt.Sprintf("pod %s %s", pod.Name, words), hopeless: slices.Contains(hopelessReasons, reason)}
		for _, part := range []string{reason, message} {
			if part != "" {
				s.missing += ": " + part
			}
		}
		return s
	}
	for _, c := range pod.Status.ContainerStatuses {
		for _, ended := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if ended != nil {
				return of(fmt.Sprintf("has ended with exit code %d", ended.ExitCode), ended.Reason, ended.Message)
			}
		}
		if waiting := c.State.Waiting; waiting != nil && !slices.Contains(usualReasons, waiting.Reason) {
			return of("doesn't start", waiting.Reason, waiting.Message)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return of("has no node", c.Reason, c.Message)
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return of("has failed", pod.Status.Reason, pod.Status.Message)
	}
	if pod.Spec.NodeName == "" {
		return of("has no node yet", "", "")
	}
	return of(fmt.Sprintf("on node %s is %s, and not ready", pod.Spec.NodeName, pod.Status.Phase), pod.Status.Reason, pod.Status.Message)
}
