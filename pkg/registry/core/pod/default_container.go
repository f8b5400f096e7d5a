package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// containerOf returns the name of the container that a request is for. If the request names no container, the pod
// must have only one regular container.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	names := containerNames(&pod.Spec)
	switch {
	case slices.Contains(names, name):
		return name, nil
	case name != "":
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	case len(pod.Spec.Containers) == 1:
		return pod.Spec.Containers[0].Name, nil
	case len(pod.Spec.Containers) == 0:
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s", pod.Name))
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
}

// containerNames returns the names of all containers of a pod, in the order in which the containers start.
func containerNames(spec *corev1.PodSpec) []string {
	var names []string
	for _, c := range podspec.Containers(spec, nil) {
		names = append(names, c.Name)
	}
	return names
}
