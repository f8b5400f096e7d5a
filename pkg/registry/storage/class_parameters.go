package storage

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// The limits of the parameters that a class passes to its driver.
const (
	maxStorageParameters     = 512
	maxStorageParametersSize = 256 * 1024
)

func storageParameters(parameters map[string]string, mayBeEmpty bool) field.ErrorList {
	path := field.NewPath("parameters")
	if len(parameters) > maxStorageParameters {
		return field.ErrorList{field.TooLong(path, "", maxStorageParameters)}
	}
	var f validation.Findings
	size := 0
	for k, v := range validation.Sorted(parameters) {
		f.AddIf(k == "", field.Invalid(path, k, "field can not be empty."))
		size += len(k) + len(v)
	}
	f.AddIf(size > maxStorageParametersSize, field.TooLong(path, "", maxStorageParametersSize))
	f.AddIf(!mayBeEmpty && len(parameters) == 0, field.Required(path, "must contain at least one key/value pair"))
	return f.Errs
}
