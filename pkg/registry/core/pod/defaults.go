package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

// defaultPod sets the defaults of a Pod. Some of these defaults are only for pods, and not for pod templates.
func defaultPod(pod *corev1.Pod) {
	defaults.DropInitContainerAnnotations(pod.Annotations)
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			requestsFromLimits(&containers[i].Resources)
			if pod.Spec.HostNetwork {
				hostPorts(containers[i].Ports)
			}
		}
	}
	defaults.Pointer(&pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}
	defaults.PodSpec(&pod.Spec)
	defaultPodStatus(&pod.Status)
}

// defaultPodStatus rounds the quantities of the status, and makes its addresses agree.
func defaultPodStatus(s *corev1.PodStatus) {
	for _, statuses := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range statuses {
			allocated(statuses[i].AllocatedResources, statuses[i].Resources)
		}
	}
	allocated(s.AllocatedResources, s.Resources)
	defaultPodIPs(s)
}

func allocated(list corev1.ResourceList, r *corev1.ResourceRequirements) {
	defaults.ResourceList(list)
	if r != nil {
		defaults.ResourceRequirements(r)
	}
}

// hostPorts sets a missing hostPort to containerPort. Only pods in the network of their node get this default.
func hostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		defaults.Zero(&ports[i].HostPort, ports[i].ContainerPort)
	}
}

// defaultPodIPs makes podIP and the first of podIPs equal. If the client sets both and they differ, podIPs becomes a
// list with only podIP.
func defaultPodIPs(s *corev1.PodStatus) {
	switch {
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
}

// requestsFromLimits sets missing requests to the limits. Only pods get this default, because in a template it
// would come before the requests that a LimitRange sets.
func requestsFromLimits(r *corev1.ResourceRequirements) {
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	defaults.AddMissing(r.Requests, r.Limits, func(corev1.ResourceName) bool { return true })
}
