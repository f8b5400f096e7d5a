package pod

import (
	corev1 "k8s.io/api/core/v1"
)

// podResize is the part of a pod that pods/resize changes (KEP-1287): the resources and the resize policies of the
// containers, and the resources of the whole pod (KEP-5419).
var podResize = podPart{
	take: func(spec, asked *corev1.PodSpec) {
		spec.Containers = resized(spec.Containers, asked.Containers)
		spec.InitContainers = resized(spec.InitContainers, asked.InitContainers)
		if asked.Resources != nil {
			spec.Resources = asked.Resources
		}
		podLevelResources(spec)
	},
	validate: validatePodResize,
}

// resized returns the stored containers with the requested resources and resize policies. If the names of the
// containers differ, it returns the requested containers, and validation refuses the update.
func resized(containers, asked []corev1.Container) []corev1.Container {
	if len(containers) != len(asked) {
		return asked
	}
	for i := range asked {
		if containers[i].Name != asked[i].Name {
			return asked
		}
		containers[i].Resources, containers[i].ResizePolicy = asked[i].Resources, asked[i].ResizePolicy
	}
	return containers
}
