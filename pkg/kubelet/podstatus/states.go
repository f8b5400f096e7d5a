package podstatus

import corev1 "k8s.io/api/core/v1"

// State is a state of a pod's containers.
type State string

// The names of the waiting states are the reasons that "kubectl get pods" shows.
const (
	// Creating is the state before the sandbox of the pod exists.
	Creating State = "ContainerCreating"
	// Running is the state of containers that run and are ready.
	Running State = "Running"
	// Unready is the state of containers that run and whose readiness probes fail.
	Unready State = "Unready"
	// Succeeded is the state of containers that have ended with exit code 0.
	Succeeded State = "Succeeded"
	// Crashed is the state of containers that have ended with exit code 1. The restart policy of the pod decides whether
	// the pod has failed.
	Crashed State = "Crashed"
	// CrashLoopBackOff is the state of containers that crash again and again, and wait for the next start.
	CrashLoopBackOff State = "CrashLoopBackOff"
	// ErrImagePull is the state of containers whose images can't be pulled.
	ErrImagePull State = "ErrImagePull"
	// ImagePullBackOff is the state of containers that wait for the next pull.
	ImagePullBackOff State = "ImagePullBackOff"
	// Failed is the state of containers of a pod that has failed, and isn't restarted.
	Failed State = "Failed"
	// Evicted is the state of containers that the kubelet has ended because the node lacked memory.
	Evicted State = "Evicted"
	// Terminated is the state of containers that the kubelet has ended because the pod is deleted.
	Terminated State = "Terminated"
)

// States are all states.
func States() []State {
	return []State{Creating, Running, Unready, Succeeded, Crashed, CrashLoopBackOff, ErrImagePull, ImagePullBackOff, Failed, Evicted, Terminated}
}

// behaviour is what the containers of a pod do in a state.
type behaviour struct {
	// sandbox is true if the pod has a sandbox, and so an address. initialized is true if the init containers have
	// ended. final is true if containers aren't restarted, whatever the restart policy is.
	sandbox, initialized, final bool
	// container is the state of each regular container: running, waiting, or terminated. A running container is ready if
	// ready is true.
	container corev1.ContainerState
	ready     bool
	// reason and message are those of the pod. disruption is the reason of the condition DisruptionTarget.
	reason, message, disruption string
}

var states = map[State]behaviour{
	Creating:         {container: waiting("", "")}, // the reason depends on the init containers
	ErrImagePull:     {sandbox: true, initialized: true, container: waiting("ErrImagePull", "failed to pull and unpack the image: not found")},
	ImagePullBackOff: {sandbox: true, initialized: true, container: waiting("ImagePullBackOff", "Back-off pulling the image: ErrImagePull: not found")},
	CrashLoopBackOff: {sandbox: true, initialized: true, container: waiting("CrashLoopBackOff", "back-off restarting failed container")},
	Unready:          {sandbox: true, initialized: true, container: running()},
	Running:          {sandbox: true, initialized: true, container: running(), ready: true},
	Succeeded:        {sandbox: true, initialized: true, container: terminated(0, "Completed")},
	Crashed:          {sandbox: true, initialized: true, container: terminated(1, "Error")},
	Failed:           {sandbox: true, initialized: true, final: true, container: terminated(1, "Error")},
	Evicted: {sandbox: true, initialized: true, final: true, container: terminated(137, "Error"),
		reason: "Evicted", message: "The node was low on resource: memory.", disruption: corev1.PodReasonTerminationByKubelet},
	Terminated: {sandbox: true, initialized: true, final: true, container: terminated(143, "Error")},
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func terminated(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}
