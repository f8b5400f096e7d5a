package storage

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// csiStorageCapacityKind is the row of csistoragecapacities in the server's table of kinds.
var csiStorageCapacityKind = registry.Kind{
	Resource:   "csistoragecapacities",
	Namespaced: true,
	Object:     &storagev1.CSIStorageCapacity{}, List: &storagev1.CSIStorageCapacityList{},
	ConditionalUpdate: true,
	Hooks: registry.HooksOf[*storagev1.CSIStorageCapacity]{
		Validate:       validateCSIStorageCapacity,
		ValidateUpdate: validateCSIStorageCapacityUpdate,
		Warnings:       csiStorageCapacityWarnings,
	},
}

// validateCSIStorageCapacity checks a new CSIStorageCapacity (KEP-1472).
func validateCSIStorageCapacity(o *storagev1.CSIStorageCapacity) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(capacity(o, metav1validation.LabelSelectorValidationOptions{}))
	return f.Errs
}

// validateCSIStorageCapacityUpdate checks an update of a CSIStorageCapacity. The nodeTopology and the storageClassName
// can't change.
func validateCSIStorageCapacityUpdate(o, old *storagev1.CSIStorageCapacity) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(capacity(o, metav1validation.LabelSelectorValidationOptions{
		AllowInvalidLabelValueInSelector: metav1validation.LabelSelectorHasInvalidLabelValue(old.NodeTopology)}))
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, validation.Unchanged(field.NewPath("nodeTopology"), o.NodeTopology, old.NodeTopology),
		validation.Unchanged(field.NewPath("storageClassName"), o.StorageClassName, old.StorageClassName))
	return f.Errs
}

func capacity(o *storagev1.CSIStorageCapacity, opts metav1validation.LabelSelectorValidationOptions) field.ErrorList {
	f := validation.Findings{Errs: metav1validation.ValidateLabelSelector(o.NodeTopology, opts, field.NewPath("nodeTopology"))}
	f.Merge(validation.Follows(validation.ObjectName, field.NewPath("storageClassName"), o.StorageClassName))
	if q := o.Capacity; q != nil {
		f.AddIf(q.Sign() < 0, field.Invalid(field.NewPath("capacity"), q.String(), apivalidation.IsNegativeErrorMsg))
	}
	return f.Errs
}

// csiStorageCapacityWarnings warns of deprecated node labels in nodeTopology.
func csiStorageCapacityWarnings(_ context.Context, c, _ *storagev1.CSIStorageCapacity) []string {
	var l warnings.List
	l.NodeLabelSelector(field.NewPath("nodeTopology"), c.NodeTopology)
	return l
}
