package printers

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// PersistentVolume is shown by what it offers and which claim has it.
var PersistentVolume = Of(
	[]Column{
		NameColumn,
		Text("Capacity", Doc(corev1.PersistentVolumeSpec{}, "capacity")),
		Text("Access Modes", Doc(corev1.PersistentVolumeSpec{}, "accessModes")),
		Text("Reclaim Policy", Doc(corev1.PersistentVolumeSpec{}, "persistentVolumeReclaimPolicy")),
		Text("Status", Doc(corev1.PersistentVolumeStatus{}, "phase")),
		Text("Claim", Doc(corev1.PersistentVolumeSpec{}, "claimRef")),
		Text("StorageClass", "StorageClass of the pv"),
		Text("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
		Text("Reason", Doc(corev1.PersistentVolumeStatus{}, "reason")),
		AgeColumn,
		Wide(Text("VolumeMode", Doc(corev1.PersistentVolumeSpec{}, "volumeMode"))),
	},
	func(pv *corev1.PersistentVolume) []any {
		claim := ""
		if ref := pv.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		return []any{
			pv.Name, pv.Spec.Capacity.Storage().String(), accessModes(pv.Spec.AccessModes),
			string(pv.Spec.PersistentVolumeReclaimPolicy), unlessDeleted(&pv.ObjectMeta, string(pv.Status.Phase)), claim,
			volume.GetPersistentVolumeClass(pv), ptr.Deref(pv.Spec.VolumeAttributesClassName, Unset),
			pv.Status.Reason, Since(pv.CreationTimestamp), string(ptr.Deref(pv.Spec.VolumeMode, Unset)),
		}
	})

// PersistentVolumeClaim is shown by the volume that it is bound to.
var PersistentVolumeClaim = Of(
	[]Column{
		NameColumn,
		Text("Status", Doc(corev1.PersistentVolumeClaimStatus{}, "phase")),
		Text("Volume", Doc(corev1.PersistentVolumeClaimSpec{}, "volumeName")),
		Text("Capacity", Doc(corev1.PersistentVolumeClaimStatus{}, "capacity")),
		Text("Access Modes", Doc(corev1.PersistentVolumeClaimStatus{}, "accessModes")),
		Text("StorageClass", "StorageClass of the pvc"),
		Text("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
		AgeColumn,
		Wide(Text("VolumeMode", Doc(corev1.PersistentVolumeClaimSpec{}, "volumeMode"))),
	},
	func(pvc *corev1.PersistentVolumeClaim) []any {
		capacity, modes := "", ""
		if pvc.Spec.VolumeName != "" {
			capacity, modes = pvc.Status.Capacity.Storage().String(), accessModes(pvc.Status.AccessModes)
		}
		return []any{
			pvc.Name, unlessDeleted(&pvc.ObjectMeta, string(pvc.Status.Phase)), pvc.Spec.VolumeName, capacity, modes,
			volume.GetPersistentVolumeClaimClass(pvc), ptr.Deref(pvc.Spec.VolumeAttributesClassName, Unset),
			Since(pvc.CreationTimestamp), string(ptr.Deref(pvc.Spec.VolumeMode, Unset)),
		}
	})

func unlessDeleted(m *metav1.ObjectMeta, phase string) string {
	if m.DeletionTimestamp != nil {
		return "Terminating"
	}
	return phase
}

// accessModes are shown by their usual abbreviations, in a fixed order.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var shown []string
	for _, mode := range []struct {
		mode         corev1.PersistentVolumeAccessMode
		abbreviation string
	}{
		{corev1.ReadWriteOnce, "RWO"},
		{corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, mode.mode) {
			shown = append(shown, mode.abbreviation)
		}
	}
	return strings.Join(shown, ",")
}
