// Package podspec reads pod specs: all containers, the objects to which a spec refers, the operating system, the
// AppArmor profile, resources, and the quality of service class.
//
// Don't use the package to check or change a pod spec. Package podvalidation checks pod specs, package defaults
// sets defaults, and admission plugins change pods.
package podspec

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Containers yields all containers of a pod spec, with their paths. Init containers come first, and ephemeral
// containers last. The caller may change the containers.
func Containers(spec *corev1.PodSpec, path *field.Path) iter.Seq2[*field.Path, *corev1.Container] {
	return func(yield func(*field.Path, *corev1.Container) bool) {
		for _, list := range []struct {
			field      string
			containers []corev1.Container
		}{{"initContainers", spec.InitContainers}, {"containers", spec.Containers}} {
			for i := range list.containers {
				if !yield(path.Child(list.field).Index(i), &list.containers[i]) {
					return
				}
			}
		}
		for i := range spec.EphemeralContainers {
			container := (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
			if !yield(path.Child("ephemeralContainers").Index(i), container) {
				return
			}
		}
	}
}

// IsSidecar reports whether an init container keeps running beside the containers (KEP-753).
func IsSidecar(c *corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}
