package podspec

import (
	corev1 "k8s.io/api/core/v1"
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
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	guaranteed := true
	for _, r := range all {
		addCompute(requests, r.Requests)
		guaranteed = addCompute(limits, r.Limits) == len(computeResources) && guaranteed
	}
	if len(requests)+len(limits) == 0 {
		return corev1.PodQOSBestEffort
	}
	for name, request := range requests {
		limit, limited := limits[name]
		guaranteed = guaranteed && limited && limit.Cmp(request) == 0
	}
	if guaranteed && len(requests) == len(limits) {
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// addCompute adds the cpu and memory in the argument "list" to "sum", and ignores amounts of 0. It returns the
// number of amounts that it has added.
func addCompute(sum, list corev1.ResourceList) int {
	n := 0
	for _, name := range computeResources {
		q, has := list[name]
		if !has || q.Sign() <= 0 {
			continue
		}
		n++
		total := sum[name]
		total.Add(q)
		sum[name] = total
	}
	return n
}
