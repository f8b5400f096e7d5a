package limitranger

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// annotation is the annotation of a pod that lists the defaults that the plugin has set.
const annotation = "kubernetes.io/limit-ranger"

// setDefaults sets the requests and limits that the pod's containers don't set themselves.
func setDefaults(pod *corev1.Pod, limitRange *corev1.LimitRange) {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for _, limit := range limitRange.Spec.Limits {
		if limit.Type == corev1.LimitTypeContainer {
			maps.Copy(requests, limit.DefaultRequest)
			maps.Copy(limits, limit.Default)
		}
	}

	var set []string
	for _, group := range []struct {
		kind       string
		containers []corev1.Container
	}{{"container", pod.Spec.Containers}, {"init container", pod.Spec.InitContainers}} {
		for i := range group.containers {
			container := &group.containers[i]
			for _, list := range []struct {
				kind     string
				given    *corev1.ResourceList
				defaults corev1.ResourceList
			}{{"request", &container.Resources.Requests, requests}, {"limit", &container.Resources.Limits, limits}} {
				if names := fill(list.given, list.defaults); len(names) > 0 {
					set = append(set, fmt.Sprintf("%s %s for %s %s", strings.Join(names, ", "), list.kind, group.kind, container.Name))
				}
			}
		}
	}
	if len(set) > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[annotation] = "LimitRanger plugin set: " + strings.Join(set, "; ")
	}
}

// fill adds the missing defaults to a list of resources, and returns their sorted names.
func fill(list *corev1.ResourceList, defaults corev1.ResourceList) []string {
	var added []string
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = defaults[name].DeepCopy()
		added = append(added, string(name))
	}
	return added
}
