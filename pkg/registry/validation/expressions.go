package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Expression is a CEL expression in an object that a request creates or updates.
type Expression struct {
	plugincel.ExpressionAccessor
	Uses plugincel.OptionalVariableDeclarations
	// Stored are the expressions of the stored object. They may use features of a newer server.
	Stored sets.Set[string]
	// Written is the expression as it is in the field, for comparisons and messages.
	Written string
}

// Environment returns the CEL environment of stored expressions if the stored object has the expression. Otherwise
// it returns the environment of new expressions.
func (e Expression) Environment() environment.Type {
	if e.Stored.Has(e.Written) {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// Check returns an error if the expression doesn't compile.
func (e Expression) Check(compiler plugincel.Compiler, path *field.Path) field.ErrorList {
	return e.Failure(compiler.CompileCELExpression(e, e.Uses, e.Environment()).Error, path)
}

// Failure returns the field's error for the error of the compiler. It returns nil if err is nil.
func (e Expression) Failure(err *cel.Error, path *field.Path) field.ErrorList {
	switch {
	case err == nil:
		return nil
	case err.Type == cel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case err.Type == cel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, e.Written, err.Detail)}
	case err.Type == cel.ErrorTypeInternal:
		return field.ErrorList{field.InternalError(path, err)}
	default:
		return field.ErrorList{field.InternalError(path, fmt.Errorf("unsupported error type: %w", err))}
	}
}
