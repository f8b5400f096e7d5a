// Package podspec reads the specs of pods: containers of all types, the objects that they refer to, resources and the
// quality of service. Don't use the package to check or change a spec: see packages validation and defaults, and
// admission plugins.
package podspec

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Containers yields the containers of all types with their paths in the spec, init containers first and ephemeral ones
// last. Changing a container changes the spec.
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
