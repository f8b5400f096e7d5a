package podspec

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// computeResources are the resources that determine the quality of service class.
var computeResources = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// QOSClass returns the quality of service class of a pod. It follows from the pod's requests and limits, see
// https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/.
func QOSClass(pod *corev1.Pod) corev1.PodQOSClass {
	var all []corev1.ResourceRequirements
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		all = append(all, *pod.Spec.Resources)
	} else {
		for _, c := range Containers(&corev1.PodSpec{InitContainers: pod.Spec.InitContainers, Containers: pod.Spec.Containers}, nil) {
			all = append(all, c.Resources)
		}
	}
	var class corev1.PodQOSClass
	for _, r := range all {
		for _, name := range computeResources {
			switch c := resourceQOSClass(r.Requests[name], r.Limits[name]); {
			case class == "":
				class = c
			case class != c:
				return corev1.PodQOSBurstable
			}
		}
	}
	return cmp.Or(class, corev1.PodQOSBestEffort)
}

// resourceQOSClass returns the class of one resource of a container. A pod has the class of all its resources, or is
// burstable if they have different ones.
func resourceQOSClass(request, limit resource.Quantity) corev1.PodQOSClass {
	switch {
	case !request.Equal(limit):
		return corev1.PodQOSBurstable
	case request.IsZero():
		return corev1.PodQOSBestEffort
	}
	return corev1.PodQOSGuaranteed
}
