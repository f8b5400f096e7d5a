package validation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Generated is a validation function that k8s.io/api generates from declarations in its Go types (KEP-5073). Such
// functions are in files named zz_generated.validations.go.
type Generated[T any] func(ctx context.Context, op operation.Operation, path *field.Path, value, old *T) field.ErrorList

// Declared checks a part of an object by generated validation. The argument "old" is nil on create. On update,
// unchanged fields aren't checked again. The argument "options" has the states of the feature gates that the
// declarations name.
//
// As in kube-apiserver, declarations of the stage alpha have no effect. The feature gate DeclarativeValidationBeta
// has no effect: if it is off, kube-apiserver checks the same rules by other code, which miniapi doesn't have. A
// kind calls Declared after its own checks, because kube-apiserver returns the errors in this order.
func Declared[T any](generated Generated[T], path *field.Path, value, old *T, options map[string]bool) field.ErrorList {
	op := operation.Operation{Type: operation.Create, Options: options}
	if old != nil {
		op.Type = operation.Update
	}
	const beta = true
	ctx := context.Background()
	return validate.FilterEnforcedDeclarativeErrors(ctx, generated(ctx, op, path, value, old), beta)
}

// Within returns the list, or nil if the list has more items than the argument "most". kube-apiserver doesn't check
// the items of a list that is too long.
func Within[T any](list []T, most int) []T {
	if len(list) > most {
		return nil
	}
	return list
}
