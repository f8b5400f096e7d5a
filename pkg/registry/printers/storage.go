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
	StorageClass = Of(
		[]Column{
			NameColumn,
			Text("Provisioner", Doc(storagev1.StorageClass{}, "provisioner")),
			Text("ReclaimPolicy", Doc(storagev1.StorageClass{}, "reclaimPolicy")),
			Text("VolumeBindingMode", Doc(storagev1.StorageClass{}, "volumeBindingMode")),
			Text("AllowVolumeExpansion", Doc(storagev1.StorageClass{}, "allowVolumeExpansion")),
			AgeColumn,
		},
		func(c *storagev1.StorageClass) []any {
			return []any{
				className(c.Name, c.Annotations, defaultStorageClass, betaDefaultStorageClass), c.Provisioner,
				string(ptr.Deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
				string(ptr.Deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate)),
				ptr.Deref(c.AllowVolumeExpansion, false), Since(c.CreationTimestamp),
			}
		})

	VolumeAttributesClass = Of(
		[]Column{NameColumn, Text("DriverName", Doc(storagev1.VolumeAttributesClass{}, "driverName")), AgeColumn},
		func(c *storagev1.VolumeAttributesClass) []any {
			return []any{className(c.Name, c.Annotations, defaultVolumeAttributesClass), c.DriverName, Since(c.CreationTimestamp)}
		})

	VolumeAttachment = Of(
		[]Column{
			NameColumn,
			{Name: "Attacher", Type: "string", Format: "name", Description: Doc(storagev1.VolumeAttachmentSpec{}, "attacher")},
			Text("PV", Doc(storagev1.VolumeAttachmentSource{}, "persistentVolumeName")),
			Text("Node", Doc(storagev1.VolumeAttachmentSpec{}, "nodeName")),
			Boolean("Attached", Doc(storagev1.VolumeAttachmentStatus{}, "attached")),
			AgeColumn,
		},
		func(a *storagev1.VolumeAttachment) []any {
			return []any{
				a.Name, a.Spec.Attacher, ptr.Deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName,
				a.Status.Attached, Since(a.CreationTimestamp),
			}
		})

	CSINode = Of(
		[]Column{
			NameColumn,
			Number("Drivers", "Drivers indicates the number of CSI drivers registered on the node"),
			AgeColumn,
		},
		func(n *storagev1.CSINode) []any {
			return []any{n.Name, int64(len(n.Spec.Drivers)), Since(n.CreationTimestamp)}
		})

	CSIDriver = Of(
		[]Column{
			NameColumn,
			Boolean("AttachRequired", Doc(storagev1.CSIDriverSpec{}, "attachRequired")),
			Boolean("PodInfoOnMount", Doc(storagev1.CSIDriverSpec{}, "podInfoOnMount")),
			Boolean("StorageCapacity", Doc(storagev1.CSIDriverSpec{}, "storageCapacity")),
			Text("TokenRequests", Doc(storagev1.CSIDriverSpec{}, "tokenRequests")),
			Boolean("RequiresRepublish", Doc(storagev1.CSIDriverSpec{}, "requiresRepublish")),
			Text("Modes", Doc(storagev1.CSIDriverSpec{}, "volumeLifecycleModes")),
			AgeColumn,
		},
		func(d *storagev1.CSIDriver) []any {
			audiences := Unset
			if d.Spec.TokenRequests != nil {
				audiences = Joined(d.Spec.TokenRequests, func(r *storagev1.TokenRequest) string { return r.Audience })
			}
			var modes []string
			for _, mode := range d.Spec.VolumeLifecycleModes {
				modes = append(modes, string(mode))
			}
			return []any{
				d.Name, ptr.Deref(d.Spec.AttachRequired, true), ptr.Deref(d.Spec.PodInfoOnMount, false),
				ptr.Deref(d.Spec.StorageCapacity, false), audiences, ptr.Deref(d.Spec.RequiresRepublish, false),
				cmp.Or(strings.Join(modes, ","), None), Since(d.CreationTimestamp),
			}
		})
)
