// Package podstatus computes the status that a kubelet reports for a pod, for containers that only pretend to run.
//
// [Of] returns the status for a [State] of the containers. The rules for the phase and for the conditions are those of
// the kubelet of Kubernetes 1.37.
package podstatus

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Addresses are the IP addresses of a pod and of its node.
type Addresses struct{ Pod, Host []string }

// Of returns the status of a pod whose containers have reached a state. What the state doesn't concern stays as in the
// pod's status, such as the start of a container that runs already. So for a pod in that state, Of returns its status.
func Of(pod *corev1.Pod, state State, addresses Addresses, at time.Time) corev1.PodStatus {
	return of(pod, states[state], addresses, at)
}

// Fail returns the status of a pod that fails for a reason, whatever its restart policy is. OOMKilled is the reason of
// the containers, and any other reason is that of the pod.
func Fail(pod *corev1.Pod, reason string, addresses Addresses, at time.Time) corev1.PodStatus {
	state := states[Failed]
	if reason == oomKilled {
		state.container = terminated(137, oomKilled)
	} else {
		state.reason = reason
	}
	return of(pod, state, addresses, at)
}

const oomKilled = "OOMKilled"

func of(pod *corev1.Pod, state behaviour, addresses Addresses, at time.Time) corev1.PodStatus {
	now := metav1.NewTime(at.Truncate(time.Second)) // the API has whole seconds
	status := *pod.Status.DeepCopy()
	c := containers{pod: pod, state: state, now: now}
	status.InitContainerStatuses = c.statuses(pod.Spec.InitContainers, status.InitContainerStatuses, c.initialized)
	status.ContainerStatuses = c.statuses(pod.Spec.Containers, status.ContainerStatuses, c.regular)
	status.EphemeralContainerStatuses = c.statuses(ephemeral(pod), status.EphemeralContainerStatuses, c.ephemeral)
	complete(pod, &status, state, addresses, now)
	return status
}

// Complete completes a status that has those of the containers: it sets the phase, the conditions and the addresses.
// sandbox is true if the pod has a sandbox. final is true if containers of the pod aren't restarted.
func Complete(pod *corev1.Pod, status *corev1.PodStatus, sandbox, final bool, addresses Addresses, at time.Time) {
	complete(pod, status, behaviour{sandbox: sandbox, final: final}, addresses, metav1.NewTime(at.Truncate(time.Second)))
}

func complete(pod *corev1.Pod, status *corev1.PodStatus, state behaviour, addresses Addresses, now metav1.Time) {
	status.ObservedGeneration = pod.Generation
	status.Phase = phase(pod, status, state.final || pod.DeletionTimestamp != nil)
	if state.reason != "" {
		status.Reason, status.Message = state.reason, state.message
	}
	if status.StartTime == nil {
		status.StartTime = &now
	}
	setAddresses(status, addresses, state.sandbox)
	setConditions(pod, status, state, now)
}

// setAddresses sets the addresses of the node, and the addresses of the pod when its sandbox exists.
func setAddresses(status *corev1.PodStatus, addresses Addresses, sandbox bool) {
	if len(addresses.Host) > 0 {
		status.HostIP, status.HostIPs = addresses.Host[0], nil
		for _, ip := range addresses.Host {
			status.HostIPs = append(status.HostIPs, corev1.HostIP{IP: ip})
		}
	}
	if sandbox && len(addresses.Pod) > 0 {
		status.PodIP, status.PodIPs = addresses.Pod[0], nil
		for _, ip := range addresses.Pod {
			status.PodIPs = append(status.PodIPs, corev1.PodIP{IP: ip})
		}
	}
}

// ephemeral returns the ephemeral containers of a pod in the form of regular containers.
func ephemeral(pod *corev1.Pod) []corev1.Container {
	var all []corev1.Container
	for _, c := range pod.Spec.EphemeralContainers {
		all = append(all, corev1.Container(c.EphemeralContainerCommon))
	}
	return all
}

// phase returns the phase that follows from the statuses of the containers. final is true if the kubelet doesn't restart
// containers of the pod.
func phase(pod *corev1.Pod, status *corev1.PodStatus, final bool) corev1.PodPhase {
	if status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed {
		return status.Phase
	}
	var pending, running, restarting, failed int
	for i, c := range status.ContainerStatuses {
		ended := c.State.Terminated
		if c.State.Waiting != nil {
			ended = c.LastTerminationState.Terminated
		}
		switch {
		case c.State.Running != nil:
			running++
			continue
		case ended == nil:
			pending++
			continue
		case ended.ExitCode != 0 || c.State.Waiting != nil:
			failed++
		}
		if !final && Restarts(pod, &pod.Spec.Containers[i], ended.ExitCode) {
			restarting++
		}
	}
	switch {
	case hasFailedInit(pod, status, final):
		return corev1.PodFailed
	case pending > 0:
		return corev1.PodPending
	case running > 0, restarting > 0:
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// hasFailedInit reports whether an init container has failed and isn't restarted, so that the regular containers don't start.
func hasFailedInit(pod *corev1.Pod, status *corev1.PodStatus, final bool) bool {
	for i, c := range status.InitContainerStatuses {
		spec := pod.Spec.InitContainers[i]
		if ended := c.State.Terminated; ended != nil && ended.ExitCode != 0 && !isRestartable(spec) && (final || !Restarts(pod, &spec, ended.ExitCode)) {
			return true
		}
	}
	return false
}

// isRestartable reports whether an init container is a sidecar.
func isRestartable(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
