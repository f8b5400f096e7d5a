package defaults

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// ResourceList rounds quantities up to a thousandth, the finest that the API keeps.
func ResourceList(list corev1.ResourceList) {
	for name, quantity := range list {
		if quantity.RoundUp(resource.Milli) {
			continue // was exact
		}
		list[name] = quantity
	}
}

func resourceRequirements(r *corev1.ResourceRequirements) {
	ResourceList(r.Limits)
	ResourceList(r.Requests)
}

// requestsFromLimits requests what is limited. That is done to pods only, not to
// templates: a LimitRange may have a say in between.
func requestsFromLimits(r *corev1.ResourceRequirements) {
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	addMissing(r.Requests, r.Limits, func(corev1.ResourceName) bool { return true })
}

// podLevelResources completes the resources of a pod as a whole, where some are
// given: huge pages are limited to the sum of the containers' limits; what is
// limited is requested, as much as the containers request together or else up to
// the limit. See KEP-2837.
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

	addMissing(limits, resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{}),
		func(name corev1.ResourceName) bool {
			_, requested := requests[name]
			return isHugePages(name) && !requested
		})
	if len(limits) == 0 {
		return
	}
	r.Limits = limits

	addMissing(requests, resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}),
		func(name corev1.ResourceName) bool {
			return resourcehelper.IsSupportedPodLevelResource(name) && !isHugePages(name)
		})
	addMissing(requests, limits, resourcehelper.IsSupportedPodLevelResource)
	if len(requests) > 0 {
		r.Requests = requests
	}
}

// addMissing copies to a list what another has and accept takes.
func addMissing(to, from corev1.ResourceList, accept func(corev1.ResourceName) bool) {
	for name, quantity := range from {
		if _, found := to[name]; !found && accept(name) {
			to[name] = quantity.DeepCopy()
		}
	}
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}
