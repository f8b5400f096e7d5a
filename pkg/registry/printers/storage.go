package printers

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
)

// What marks a class as the default one.
const (
	defaultStorageClass          = "storageclass.kubernetes.io/is-default-class"
	betaDefaultStorageClass      = "storageclass.beta.kubernetes.io/is-default-class"
	defaultVolumeAttributesClass = "volumeattributesclass.alpha.kubernetes.io/is-default-class"
)

// className marks the name of a class that one of the annotations makes the default.
func className(name string, annotations map[string]string, marks ...string) string {
	for _, mark := range marks {
		if annotations[mark] == "true" {
			return name + " (default)"
		}
	}
	return name
}

// StorageClass, and the further kinds of the group.
var (
	StorageClass = of(
		[]column{
			nameColumn,
			text("Provisioner", doc(storagev1.StorageClass{}, "provisioner")),
			text("ReclaimPolicy", doc(storagev1.StorageClass{}, "reclaimPolicy")),
			text("VolumeBindingMode", doc(storagev1.StorageClass{}, "volumeBindingMode")),
			text("AllowVolumeExpansion", doc(storagev1.StorageClass{}, "allowVolumeExpansion")),
			ageColumn,
		},
		func(c *storagev1.StorageClass) []any {
			return []any{
				className(c.Name, c.Annotations, defaultStorageClass, betaDefaultStorageClass), c.Provisioner,
				string(ptr.Deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
				string(ptr.Deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate)),
				ptr.Deref(c.AllowVolumeExpansion, false), since(c.CreationTimestamp),
			}
		})

	VolumeAttributesClass = of(
		[]column{nameColumn, text("DriverName", doc(storagev1.VolumeAttributesClass{}, "driverName")), ageColumn},
		func(c *storagev1.VolumeAttributesClass) []any {
			return []any{className(c.Name, c.Annotations, defaultVolumeAttributesClass), c.DriverName, since(c.CreationTimestamp)}
		})

	VolumeAttachment = of(
		[]column{
			nameColumn,
			{Name: "Attacher", Type: "string", Format: "name", Description: doc(storagev1.VolumeAttachmentSpec{}, "attacher")},
			text("PV", doc(storagev1.VolumeAttachmentSource{}, "persistentVolumeName")),
			text("Node", doc(storagev1.VolumeAttachmentSpec{}, "nodeName")),
			boolean("Attached", doc(storagev1.VolumeAttachmentStatus{}, "attached")),
			ageColumn,
		},
		func(a *storagev1.VolumeAttachment) []any {
			return []any{
				a.Name, a.Spec.Attacher, ptr.Deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName,
				a.Status.Attached, since(a.CreationTimestamp),
			}
		})

	CSINode = of(
		[]column{
			nameColumn,
			number("Drivers", "Drivers indicates the number of CSI drivers registered on the node"),
			ageColumn,
		},
		func(n *storagev1.CSINode) []any {
			return []any{n.Name, int64(len(n.Spec.Drivers)), since(n.CreationTimestamp)}
		})

	CSIDriver = of(
		[]column{
			nameColumn,
			boolean("AttachRequired", doc(storagev1.CSIDriverSpec{}, "attachRequired")),
			boolean("PodInfoOnMount", doc(storagev1.CSIDriverSpec{}, "podInfoOnMount")),
			boolean("StorageCapacity", doc(storagev1.CSIDriverSpec{}, "storageCapacity")),
			text("TokenRequests", doc(storagev1.CSIDriverSpec{}, "tokenRequests")),
			boolean("RequiresRepublish", doc(storagev1.CSIDriverSpec{}, "requiresRepublish")),
			text("Modes", doc(storagev1.CSIDriverSpec{}, "volumeLifecycleModes")),
			ageColumn,
		},
		func(d *storagev1.CSIDriver) []any {
			audiences := unset
			if d.Spec.TokenRequests != nil {
				audiences = joined(d.Spec.TokenRequests, func(r *storagev1.TokenRequest) string { return r.Audience })
			}
			var modes []string
			for _, mode := range d.Spec.VolumeLifecycleModes {
				modes = append(modes, string(mode))
			}
			return []any{
				d.Name, ptr.Deref(d.Spec.AttachRequired, true), ptr.Deref(d.Spec.PodInfoOnMount, false),
				ptr.Deref(d.Spec.StorageCapacity, false), audiences, ptr.Deref(d.Spec.RequiresRepublish, false),
				cmp.Or(strings.Join(modes, ","), none), since(d.CreationTimestamp),
			}
		})
)
