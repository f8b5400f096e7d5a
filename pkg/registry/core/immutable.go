package core

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

type immutableField struct {
	field    string
	now, was any
}

// checkImmutable checks that the contents of a ConfigMap or Secret don't change after its field immutable has become
// true, and that the field stays true (KEP-1412).
func checkImmutable(now, was *bool, contents ...immutableField) field.ErrorList {
	if !ptr.Deref(was, false) {
		return nil
	}
	const msg = "field is immutable when `immutable` is set"
	var f validation.Findings
	f.AddIf(!ptr.Deref(now, false), field.Forbidden(field.NewPath("immutable"), msg))
	for _, c := range contents {
		f.AddIf(!reflect.DeepEqual(c.now, c.was), field.Forbidden(field.NewPath(c.field), msg))
	}
	return f.Errs
}
