package pod

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
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
	podLevelResources(pod)
	defaults.Pointer(&pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	defaults.PodSpec(&pod.Spec)
	defaultPodIPs(&pod.Status)
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

// podLevelResources completes spec.resources, the resources of the whole pod, if some of them are set (KEP-2837).
// A missing limit of huge pages is the sum of the containers' limits. If the pod then has limits, missing requests
// come from the containers' requests, or else from the pod's limits.
func podLevelResources(pod *corev1.Pod) {
	r := pod.Spec.Resources
	if r == nil || len(r.Limits)+len(r.Requests) == 0 {
		return
	}
	limits, requests := r.Limits.DeepCopy(), r.Requests.DeepCopy()
	if limits == nil {
		limits = corev1.ResourceList{}
	}
	if requests == nil {
		requests = corev1.ResourceList{}
	}

	defaults.AddMissing(limits, resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{}),
		func(name corev1.ResourceName) bool {
			_, requested := requests[name]
			return validation.IsHugePages(name) && !requested
		})
	if len(limits) == 0 {
		return
	}
	r.Limits = limits

	defaults.AddMissing(requests, resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}),
		func(name corev1.ResourceName) bool {
			return resourcehelper.IsSupportedPodLevelResource(name) && !validation.IsHugePages(name)
		})
	defaults.AddMissing(requests, limits, resourcehelper.IsSupportedPodLevelResource)
	if len(requests) > 0 {
		r.Requests = requests
	}
}
