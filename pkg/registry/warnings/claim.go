package warnings

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Claim adds the warnings about the spec of a PersistentVolumeClaim.
func (l *List) Claim(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) {
	resources, storage := path.Child("resources"), corev1.ResourceStorage
	l.wholeBytes(resources.Child("requests").Key(string(storage)), spec.Resources.Requests[storage])
	l.wholeBytes(resources.Child("limits").Key(string(storage)), spec.Resources.Limits[storage])
}
