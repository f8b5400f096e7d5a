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
var PersistentVolume = of(
	[]column{
		nameColumn,
		text("Capacity", doc(corev1.PersistentVolumeSpec{}, "capacity")),
		text("Access Modes", doc(corev1.PersistentVolumeSpec{}, "accessModes")),
		text("Reclaim Policy", doc(corev1.PersistentVolumeSpec{}, "persistentVolumeReclaimPolicy")),
		text("Status", doc(corev1.PersistentVolumeStatus{}, "phase")),
		text("Claim", doc(corev1.PersistentVolumeSpec{}, "claimRef")),
		text("StorageClass", "StorageClass of the pv"),
		text("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
		text("Reason", doc(corev1.PersistentVolumeStatus{}, "reason")),
		ageColumn,
		wide(text("VolumeMode", doc(corev1.PersistentVolumeSpec{}, "volumeMode"))),
	},
	func(pv *corev1.PersistentVolume) []any {
		claim := ""
		if ref := pv.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		return []any{
			pv.Name, pv.Spec.Capacity.Storage().String(), accessModes(pv.Spec.AccessModes),
			string(pv.Spec.PersistentVolumeReclaimPolicy), unlessDeleted(&pv.ObjectMeta, string(pv.Status.Phase)), claim,
			volume.GetPersistentVolumeClass(pv), ptr.Deref(pv.Spec.VolumeAttributesClassName, unset),
			pv.Status.Reason, since(pv.CreationTimestamp), string(ptr.Deref(pv.Spec.VolumeMode, unset)),
		}
	})

// PersistentVolumeClaim is shown by the volume that it is bound to.
var PersistentVolumeClaim = of(
	[]column{
		nameColumn,
		text("Status", doc(corev1.PersistentVolumeClaimStatus{}, "phase")),
		text("Volume", doc(corev1.PersistentVolumeClaimSpec{}, "volumeName")),
		text("Capacity", doc(corev1.PersistentVolumeClaimStatus{}, "capacity")),
		text("Access Modes", doc(corev1.PersistentVolumeClaimStatus{}, "accessModes")),
		text("StorageClass", "StorageClass of the pvc"),
		text("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
		ageColumn,
		wide(text("VolumeMode", doc(corev1.PersistentVolumeClaimSpec{}, "volumeMode"))),
	},
	func(pvc *corev1.PersistentVolumeClaim) []any {
		capacity, modes := "", ""
		if pvc.Spec.VolumeName != "" {
			capacity, modes = pvc.Status.Capacity.Storage().String(), accessModes(pvc.Status.AccessModes)
		}
		return []any{
			pvc.Name, unlessDeleted(&pvc.ObjectMeta, string(pvc.Status.Phase)), pvc.Spec.VolumeName, capacity, modes,
			volume.GetPersistentVolumeClaimClass(pvc), ptr.Deref(pvc.Spec.VolumeAttributesClassName, unset),
			since(pvc.CreationTimestamp), string(ptr.Deref(pvc.Spec.VolumeMode, unset)),
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
