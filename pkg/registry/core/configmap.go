package core

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// configMapKind is the row of configmaps in the server's table of kinds.
var configMapKind = registry.Kind{
	Resource:   "configmaps",
	ShortNames: []string{"cm"},
	Namespaced: true,
	Object:     &corev1.ConfigMap{}, List: &corev1.ConfigMapList{},
	Printer: &configMapColumns,
	Hooks: registry.HooksOf[*corev1.ConfigMap]{
		Validate:       validateConfigMap,
		ValidateUpdate: validateConfigMapUpdate,
	},
}

// validateConfigMap checks a new ConfigMap.
func validateConfigMap(o *corev1.ConfigMap) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	size := 0
	for key, value := range validation.Sorted(o.Data) {
		path := field.NewPath("data").Key(key)
		f.Merge(validation.Follows(utilvalidation.IsConfigMapKey, path, key))
		_, twice := o.BinaryData[key]
		f.AddIf(twice, field.Invalid(path, key, "duplicate of key present in binaryData"))
		size += len(value)
	}
	for key, value := range validation.Sorted(o.BinaryData) {
		f.Merge(validation.Follows(utilvalidation.IsConfigMapKey, field.NewPath("binaryData").Key(key), key))
		size += len(value)
	}
	// The limit is for the sum of all values, so the path is empty.
	f.AddIf(size > corev1.MaxSecretSize, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	return f.Errs
}

func validateConfigMapUpdate(o, old *corev1.ConfigMap) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(checkImmutable(o.Immutable, old.Immutable,
		immutableField{"data", o.Data, old.Data}, immutableField{"binaryData", o.BinaryData, old.BinaryData}), validateConfigMap(o))
	return f.Errs
}

var configMapColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("Data", printers.Doc(corev1.ConfigMap{}, "data")), printers.AgeColumn},
	func(c *corev1.ConfigMap) []any {
		return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), printers.Since(c.CreationTimestamp)}
	})
