package pod

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podLevelResources completes spec.resources, the resources of the whole pod, if some of them are set (KEP-2837):
//   - A missing limit of huge pages is the sum of the containers' limits.
//   - A missing request is the sum of the containers' requests, or else the pod's limit.
//   - A missing limit of a requested resource that every container limits is the sum of the containers' limits, but at
//     least the request.
//
// It runs after mutating admission, which may add containers.
func podLevelResources(spec *corev1.PodSpec) {
	r := spec.Resources
	if r == nil || len(r.Limits)+len(r.Requests) == 0 {
		return
	}
	pod := &corev1.Pod{Spec: *spec}
	supported := resourcehelper.IsSupportedPodLevelResource
	containerLimits := resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{})
	limits, requests := orEmpty(r.Limits), orEmpty(r.Requests)

	defaults.AddMissing(limits, containerLimits, func(name corev1.ResourceName) bool {
		_, requested := requests[name]
		return validation.IsHugePages(name) && !requested
	})
	defaults.AddMissing(requests, resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}),
		func(name corev1.ResourceName) bool { return supported(name) && validation.IsOvercommittable(name) })
	defaults.AddMissing(requests, limits, supported)
	sums := maps.Clone(containerLimits)
	for name, request := range requests {
		if sum, limited := sums[name]; limited && request.Cmp(sum) > 0 {
			sums[name] = request
		}
	}
	defaults.AddMissing(limits, sums, func(name corev1.ResourceName) bool {
		_, requested := requests[name]
		return requested && supported(name) && allLimit(spec, name)
	})

	if len(limits) > 0 {
		r.Limits = limits
	}
	if len(requests) > 0 {
		r.Requests = requests
	}
}

// keepPodLevelResources restores the resources of the whole pod if an update leaves them out, because old clients don't
// know the field.
func keepPodLevelResources(spec, old *corev1.PodSpec) {
	if spec.Resources == nil {
		spec.Resources = old.Resources.DeepCopy()
	}
}

func orEmpty(list corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		return corev1.ResourceList{}
	}
	return list
}

// allLimit reports whether every container of a pod has a limit of a resource.
func allLimit(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	for _, c := range podspec.Containers(spec, nil) {
		if _, limited := c.Resources.Limits[name]; !limited {
			return false
		}
	}
	return true
}
