// Package podspec reads the specs of pods: their containers of all types, the objects that they refer to,
// the resources and the quality of service that they ask for. It judges and changes nothing. Who is to
// change or refuse a spec wants package defaults or validation, or an admission plugin.
package podspec

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Containers yields the containers of all types, those for initialization first and ephemeral ones last,
// each with its place below the spec's. They are the spec's own: what changes them changes it.
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
