package storage

import (
	"context"
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
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
	Resets:            []string{"status"},
	ReturnDeleted:     true,
	ConditionalUpdate: true,
	Printer:           &csiNodeColumns,
	Hooks: registry.HooksOf[*storagev1.CSINode]{
		// Requests can't change the status: the field is new in Kubernetes 1.37, where its feature gate is off.
		PrepareForCreate: func(_ context.Context, n *storagev1.CSINode) { n.Status = storagev1.CSINodeStatus{} },
		PrepareForUpdate: func(_ context.Context, n, old *storagev1.CSINode) { n.Status = old.Status },
		Validate:         validateCSINode,
		ValidateUpdate:   validateCSINodeUpdate,
	},
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

var csiNodeColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Drivers", "Drivers indicates the number of CSI drivers registered on the node"),
		printers.AgeColumn,
	},
	func(n *storagev1.CSINode) []any {
		return []any{n.Name, int64(len(n.Spec.Drivers)), printers.Since(n.CreationTimestamp)}
	})
