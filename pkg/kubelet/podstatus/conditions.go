package podstatus

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setConditions sets the conditions that the kubelet owns, in the kubelet's order. Other conditions stay behind them.
func setConditions(pod *corev1.Pod, status *corev1.PodStatus, state behaviour, now metav1.Time) {
	containers := containersReady(pod, status)
	own := []corev1.PodCondition{
		sandbox(status, state),
		initialized(pod, status),
		ready(pod, status, containers),
		containers,
	}
	if state.disruption != "" {
		own = append([]corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: state.disruption, Message: state.message,
		}}, own...)
	}
	if find(status.Conditions, corev1.PodScheduled) == nil { // no scheduler has chosen the node
		own = append(own, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	}
	all := make([]corev1.PodCondition, 0, len(own)+len(status.Conditions))
	for _, c := range own {
		c.ObservedGeneration, c.LastTransitionTime = pod.Generation, now
		if old := find(status.Conditions, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		all = append(all, c)
	}
	for _, c := range status.Conditions {
		if find(own, c.Type) == nil {
			all = append(all, c)
		}
	}
	status.Conditions = all
}

func find(conditions []corev1.PodCondition, kind corev1.PodConditionType) *corev1.PodCondition {
	if i := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == kind }); i >= 0 {
		return &conditions[i]
	}
	return nil
}

func hasEnded(status *corev1.PodStatus) bool {
	return status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed
}

// sandbox returns the condition PodReadyToStartContainers.
func sandbox(status *corev1.PodStatus, state behaviour) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}
	if !state.sandbox || hasEnded(status) {
		c.Status = corev1.ConditionFalse
	}
	return c
}

// initialized returns the condition Initialized.
func initialized(pod *corev1.Pod, status *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if status.Phase == corev1.PodSucceeded {
		c.Reason = "PodCompleted"
		return c
	}
	var incomplete []string
	for i, container := range pod.Spec.InitContainers {
		s := status.InitContainerStatuses[i]
		complete := s.Ready
		if isRestartable(container) {
			complete = s.Started != nil && *s.Started
		}
		if !complete && !hasStarted(status) {
			incomplete = append(incomplete, container.Name)
		}
	}
	if len(incomplete) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
		c.Message = fmt.Sprintf("containers with incomplete status: %s", incomplete)
	}
	return c
}

// hasStarted reports whether a regular container has started, which is after the init containers.
func hasStarted(status *corev1.PodStatus) bool {
	return slices.ContainsFunc(status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting == nil || s.LastTerminationState.Terminated != nil
	})
}

// containersReady returns the condition ContainersReady.
func containersReady(pod *corev1.Pod, status *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	switch status.Phase {
	case corev1.PodSucceeded:
		c.Status, c.Reason = corev1.ConditionFalse, "PodCompleted"
		return c
	case corev1.PodFailed:
		c.Status, c.Reason = corev1.ConditionFalse, "PodFailed"
		return c
	}
	var unready []string
	for i, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && !status.InitContainerStatuses[i].Ready {
			unready = append(unready, container.Name)
		}
	}
	for _, s := range status.ContainerStatuses {
		if !s.Ready {
			unready = append(unready, s.Name)
		}
	}
	if len(unready) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
		c.Message = fmt.Sprintf("containers with unready status: %s", unready)
	}
	return c
}

// ready returns the condition Ready, which needs ready containers and the conditions of the readiness gates.
func ready(pod *corev1.Pod, status *corev1.PodStatus, containers corev1.PodCondition) corev1.PodCondition {
	c := containers
	c.Type = corev1.PodReady
	if c.Status != corev1.ConditionTrue {
		return c
	}
	var missing []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch found := find(status.Conditions, gate.ConditionType); {
		case found == nil:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case found.Status != corev1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, found.Status))
		}
	}
	if len(missing) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(missing, ", ")
	}
	return c
}
