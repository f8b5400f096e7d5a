package podstatus

import (
	"crypto/sha256"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Runtime is the name of the container runtime that nodes and containers have.
const Runtime = "miniapi"

// containers computes the statuses of the containers of a pod.
type containers struct {
	pod   *corev1.Pod
	state behaviour
	now   metav1.Time
}

// statuses returns the status of each container in specs. next returns the state of a container, and whether the container is ready
// in this state.
func (c containers) statuses(specs []corev1.Container, previous []corev1.ContainerStatus, next func(corev1.Container) (corev1.ContainerState, bool)) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, spec := range specs {
		status := corev1.ContainerStatus{Name: spec.Name, Image: spec.Image}
		if i := slices.IndexFunc(previous, func(s corev1.ContainerStatus) bool { return s.Name == spec.Name }); i >= 0 {
			status = previous[i]
		}
		state, ready := next(spec)
		c.enter(&status, spec, state)
		status.Ready = ready
		status.Started = new(status.State.Running != nil)
		Describe(&status, spec)
		all = append(all, status)
	}
	return all
}

// Describe sets what the status of a container repeats from its spec.
func Describe(status *corev1.ContainerStatus, spec corev1.Container) {
	status.VolumeMounts = mounts(spec)
	status.AllocatedResources, status.Resources = spec.Resources.Requests, spec.Resources.DeepCopy()
}

// regular returns the state of a regular container.
func (c containers) regular(corev1.Container) (corev1.ContainerState, bool) {
	state := c.state.container
	if state.Waiting != nil && state.Waiting.Reason == "" {
		return c.creating(), false
	}
	return state, c.state.ready
}

// creating returns the state of containers that have not started.
func (c containers) creating() corev1.ContainerState {
	if len(c.pod.Spec.InitContainers) > 0 {
		return waiting("PodInitializing", "")
	}
	return waiting(string(Creating), "")
}

// initialized returns the state of an init container. A restartable one, which is a sidecar, runs as long as the
// regular containers do.
func (c containers) initialized(spec corev1.Container) (corev1.ContainerState, bool) {
	switch {
	case !c.state.initialized:
		return c.creating(), false
	case !isRestartable(spec):
		return terminated(0, "Completed"), true
	case c.state.container.Terminated == nil, c.restarts():
		return running(), true
	}
	return terminated(0, "Completed"), false
}

// restarts reports whether containers that have terminated start again.
func (c containers) restarts() bool {
	if c.state.final || c.pod.DeletionTimestamp != nil {
		return false
	}
	return slices.ContainsFunc(c.pod.Spec.Containers, func(spec corev1.Container) bool {
		return Restarts(c.pod, &spec, c.state.container.Terminated.ExitCode)
	})
}

// ephemeral returns the state of an ephemeral container, which never waits for others.
func (c containers) ephemeral(corev1.Container) (corev1.ContainerState, bool) {
	if c.state.container.Terminated != nil && !c.restarts() {
		return terminated(0, "Completed"), false
	}
	return running(), false
}

// enter moves a container into a state. A container that is in the state already keeps its times.
func (c containers) enter(status *corev1.ContainerStatus, spec corev1.Container, state corev1.ContainerState) {
	was := status.State
	replaced := was.Running != nil && status.Image != spec.Image
	status.Image = spec.Image
	switch {
	case state.Running != nil && was.Running != nil && !replaced, state.Terminated != nil && was.Terminated != nil:
		return
	case state.Waiting != nil:
		c.stop(status, 1)
		status.State = corev1.ContainerState{Waiting: state.Waiting}
	case state.Running != nil:
		c.stop(status, 0)
		if status.LastTerminationState.Terminated != nil {
			status.RestartCount++
		}
		status.ImageID = spec.Image
		status.ContainerID = ContainerID(c.pod.UID, status)
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.now}}
	default:
		if was.Running == nil { // the container ran for less than a second
			status.ImageID = spec.Image
			status.ContainerID = ContainerID(c.pod.UID, status)
		}
		status.State = corev1.ContainerState{Terminated: c.end(status, *state.Terminated)}
	}
}

// stop remembers the end of a container that has run as its last one.
func (c containers) stop(status *corev1.ContainerStatus, code int32) {
	switch {
	case status.State.Terminated != nil:
		status.LastTerminationState = corev1.ContainerState{Terminated: status.State.Terminated}
	case status.State.Running != nil:
		ended := corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed"}
		if code != 0 {
			ended.Reason = "Error"
		}
		status.LastTerminationState = corev1.ContainerState{Terminated: c.end(status, ended)}
	}
}

// end completes the end of a container with its times.
func (c containers) end(status *corev1.ContainerStatus, ended corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	ended.StartedAt, ended.FinishedAt, ended.ContainerID = c.now, c.now, status.ContainerID
	if status.State.Running != nil {
		ended.StartedAt = status.State.Running.StartedAt
	}
	return &ended
}

// ContainerID returns the ID of a container of a pod. Each start has another one.
func ContainerID(pod types.UID, status *corev1.ContainerStatus) string {
	return fmt.Sprintf("%s://%x", Runtime, sha256.Sum256(fmt.Append(nil, pod, "/", status.Name, "/", status.RestartCount)))
}

// mounts returns the statuses of the volume mounts of a container.
func mounts(spec corev1.Container) []corev1.VolumeMountStatus {
	var all []corev1.VolumeMountStatus
	for _, m := range spec.VolumeMounts {
		status := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			status.RecursiveReadOnly = new(corev1.RecursiveReadOnlyDisabled)
			if mode := m.RecursiveReadOnly; mode != nil && *mode != corev1.RecursiveReadOnlyDisabled {
				status.RecursiveReadOnly = new(corev1.RecursiveReadOnlyEnabled)
			}
		}
		all = append(all, status)
	}
	return all
}
