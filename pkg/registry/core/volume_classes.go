package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// attributesClassPath is the path of the volume attributes class (KEP-3751) in volumes and claims.
var attributesClassPath = validation.SpecPath.Child("volumeAttributesClassName")

// keepsAttributesClass checks that an update doesn't remove the volume attributes class of a volume.
func keepsAttributesClass(now, was *string) field.ErrorList {
	if now != nil || was == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(attributesClassPath, "update from non-nil value to nil is forbidden")}
}

// keepsCurrentAttributesClass checks that an update doesn't remove the volume attributes class of a claim after a
// driver has applied a class to the claim's volume.
func keepsCurrentAttributesClass(o, old *corev1.PersistentVolumeClaim) field.ErrorList {
	now := o.Spec.VolumeAttributesClassName
	if old.Status.CurrentVolumeAttributesClassName == nil || ptr.Equal(now, old.Spec.VolumeAttributesClassName) {
		return nil
	}
	const applied = "is forbidden when status.currentVolumeAttributesClassName is not nil"
	var f validation.Findings
	f.AddIf(now == nil, field.Forbidden(attributesClassPath, "update to nil "+applied))
	f.AddIf(now != nil && *now == "", field.Forbidden(attributesClassPath, "update to empty string "+applied))
	return f.Errs
}

const storageClassMessage = `deprecated since v1.8; use "storageClassName" attribute instead`
