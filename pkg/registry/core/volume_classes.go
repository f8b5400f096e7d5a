package core

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// keepsAttributesClass checks that an update doesn't remove the volume attributes class (KEP-3751). If notEmpty is
// true, the update must not change the class to "" either.
func keepsAttributesClass(now, was *string, notEmpty bool) field.ErrorList {
	if was == nil || ptr.Equal(now, was) {
		return nil
	}
	var f validation.Findings
	path := field.NewPath("spec", "volumeAttributesClassName")
	f.AddIf(now == nil, field.Forbidden(path, "update from non-nil value to nil is forbidden"))
	f.AddIf(notEmpty && now != nil && *now == "", field.Forbidden(path, "update from non-nil value to an empty string is forbidden"))
	return f.Errs
}

const storageClassMessage = `deprecated since v1.8; use "storageClassName" attribute instead`
