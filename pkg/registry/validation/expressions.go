package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Expression is a CEL expression to compile.
type Expression struct {
	plugincel.ExpressionAccessor
	Uses plugincel.OptionalVariableDeclarations
	// Stored expressions are those of the old object: they may use what a newer
	// version of the server introduced.
	Stored sets.Set[string]
	// Written is the expression as its field has it.
	Written string
}

// Environment is that of new expressions, unless the old object has the same one.
func (e Expression) Environment() environment.Type {
	if e.Stored.Has(e.Written) {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// Check compiles the expression.
func (e Expression) Check(compiler plugincel.Compiler, path *field.Path) field.ErrorList {
	return e.Failure(compiler.CompileCELExpression(e, e.Uses, e.Environment()).Error, path)
}

// Failure is the error of a field whose expression doesn't compile.
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
