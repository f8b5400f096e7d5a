package storage

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// csiNodeKind is the row of csinodes in the server's table of kinds.
var csiNodeKind = registry.Kind{
	Resource: "csinodes",
	Object:   &storagev1.CSINode{}, List: &storagev1.CSINodeList{},
	Status:              true,
	StatusKeepsMetadata: true,
	ReturnDeleted:       true,
	ConditionalUpdate:   true,
	Printer:             &csiNodeColumns,
	Hooks: registry.HooksOf[*storagev1.CSINode]{
		Validate:             validateCSINode,
		ValidateUpdate:       validateCSINodeUpdate,
		ValidateStatusUpdate: validateCSINodeStatusUpdate,
	},
	Gated: []registry.Gate{registry.GateOf[storagev1.CSINode]("CSIVolumeHealth", "Status.StorageHealth")},
}

const maxCSINodeID = 256

// validateCSINode checks a new CSINode, which lists the drivers on a node.
func validateCSINode(o *storagev1.CSINode) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	drivers := field.NewPath("spec", "drivers")
	var names []string
	for i, d := range o.Spec.Drivers {
		path := drivers.Index(i)
		f.Merge(podvalidation.CSIDriverName(path.Child("name"), d.Name))
		f.AddIf(d.NodeID == "", field.Required(path.Child("nodeID"), ""))
		f.AddIf(len(d.NodeID) > maxCSINodeID, field.Invalid(path.Child("nodeID"), d.NodeID,
			fmt.Sprintf("must be %d characters or less", maxCSINodeID)))
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			f.Merge(validation.Nonnegative(path.Child("allocatable", "count"), *d.Allocatable.Count))
		}
		f.AddIf(slices.Contains(names, d.Name), field.Duplicate(path.Child("name"), d.Name))
		names = append(names, d.Name)
		for j, key := range d.TopologyKeys {
			f.AddIf(key == "", field.Required(path, ""))
			f.AddIf(slices.Contains(d.TopologyKeys[:j], key), field.Duplicate(path, key))
			f.Merge(validation.Qualified(path, key))
		}
	}
	return f.Errs
}

// validateCSINodeUpdate checks an update of a CSINode. The update can add and remove drivers. In a driver that
// stays, only the number of volumes can change.
func validateCSINodeUpdate(o, old *storagev1.CSINode) field.ErrorList {
	f := validation.Findings{Errs: validateCSINode(o)}
	for _, was := range old.Spec.Drivers {
		for _, now := range o.Spec.Drivers {
			if now.Name != was.Name {
				continue
			}
			was.Allocatable, now.Allocatable = nil, nil
			f.Merge(validation.Unchanged(field.NewPath("spec", "drivers"), now, was))
		}
	}
	return f.Errs
}

// maxStorageHealthConditions is the limit of conditions that a driver reports.
const maxStorageHealthConditions = 16

// validateCSINodeStatusUpdate checks the health that drivers report.
func validateCSINodeStatusUpdate(o, old *storagev1.CSINode) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	var names []string
	for i, health := range o.Status.StorageHealth {
		path := field.NewPath("status", "storageHealth").Index(i)
		f.AddIf(slices.Contains(names, health.Name), field.Duplicate(path, health.Name))
		names = append(names, health.Name)
		f.Merge(podvalidation.CSIDriverName(path.Child("name"), health.Name),
			validation.Few(path.Child("healthConditions"), len(health.HealthConditions), maxStorageHealthConditions))
		for j := range validation.Within(health.HealthConditions, maxStorageHealthConditions) {
			f.Merge(storageHealthCondition(path.Child("healthConditions").Index(j), &health.HealthConditions[j]))
		}
	}
	return f.Errs
}

// The limits of a condition, in characters.
const (
	maxHealthReason  = 256
	maxHealthMessage = 1024
)

func storageHealthCondition(path *field.Path, c *storagev1.StorageHealthCondition) field.ErrorList {
	f := validation.Findings{Errs: validation.OneOf(path.Child("status"), c.Status, storagev1.StorageDegraded, storagev1.StorageUnreachable)}
	f.Merge(validation.Required(metav1validation.IsValidConditionReason, path.Child("reason"), c.Reason))
	f.AddIf(len(c.Reason) > maxHealthReason, field.TooLong(path.Child("reason"), c.Reason, maxHealthReason))
	f.AddIf(len(c.Message) > maxHealthMessage, field.TooLong(path.Child("message"), c.Message, maxHealthMessage))
	f.Merge(validation.OptionalOneOf(path.Child("accessMode"), c.AccessMode,
		corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod),
		validation.OptionalOneOf(path.Child("volumeMode"), c.VolumeMode, corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock))
	return f.Errs
}

var csiNodeColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Drivers", "Drivers indicates the number of CSI drivers registered on the node"),
		printers.AgeColumn,
	},
	func(n *storagev1.CSINode) []any {
		return []any{n.Name, int64(len(n.Spec.Drivers)), printers.Since(n.CreationTimestamp)}
	})
