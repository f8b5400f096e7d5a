package storage

import (
	"maps"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// volumeAttributesClassKind is the row of volumeattributesclasses in the server's table of kinds.
var volumeAttributesClassKind = registry.Kind{
	Resource:   "volumeattributesclasses",
	ShortNames: []string{"vac"},
	Object:     &storagev1.VolumeAttributesClass{}, List: &storagev1.VolumeAttributesClassList{},
	ReturnDeleted: true,
	Printer:       &volumeAttributesClassColumns,
	Hooks: registry.HooksOf[*storagev1.VolumeAttributesClass]{
		Validate:       validateVolumeAttributesClass,
		ValidateUpdate: validateVolumeAttributesClassUpdate,
	},
}

// validateVolumeAttributesClass checks a new VolumeAttributesClass (KEP-3751).
func validateVolumeAttributesClass(o *storagev1.VolumeAttributesClass) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(validation.Required(utilvalidation.IsQualifiedName, field.NewPath("driverName"), strings.ToLower(o.DriverName)), storageParameters(o.Parameters, false))
	return f.Errs
}

// validateVolumeAttributesClassUpdate checks an update of a VolumeAttributesClass. The driver and
// its parameters can't change.
func validateVolumeAttributesClassUpdate(o, old *storagev1.VolumeAttributesClass) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.DriverName != old.DriverName, field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden."))
	f.AddIf(!maps.Equal(o.Parameters, old.Parameters), field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
	f.Merge(validateVolumeAttributesClass(o))
	return f.Errs
}

var volumeAttributesClassColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("DriverName", printers.Doc(storagev1.VolumeAttributesClass{}, "driverName")), printers.AgeColumn},
	func(c *storagev1.VolumeAttributesClass) []any {
		return []any{c.Name, c.DriverName, printers.Since(c.CreationTimestamp)}
	})
