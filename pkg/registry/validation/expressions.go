package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// plainCompilers are those of plainCompiler, by the version up to which expressions may use what is new.
var plainCompilers sync.Map

// plainCompiler compiles expressions that can't use variables. It is expensive to make
// and has no state.
func plainCompiler() plugincel.Compiler {
	version := environment.DefaultCompatibilityVersion()
	made, _ := plainCompilers.LoadOrStore(version.String(), sync.OnceValue(func() plugincel.Compiler {
		return plugincel.NewCompiler(environment.MustBaseEnvSet(version))
	}))
	return made.(func() plugincel.Compiler)()
}

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

// maxMatchConditions is the number of conditions that a webhook or a policy can have.
const maxMatchConditions = 64

// matchConditions checks the conditions of a webhook or a policy (KEP-3716).
func matchConditions(conditions []admissionv1.MatchCondition, params bool, stored sets.Set[string], path *field.Path) field.ErrorList {
	var f Findings
	f.AddIf(len(conditions) > maxMatchConditions, field.TooMany(path, len(conditions), maxMatchConditions))
	names := sets.New[string]()
	for i, c := range conditions {
		path := path.Index(i)
		if text := strings.TrimSpace(c.Expression); text == "" {
			f.Add(field.Required(path.Child("expression"), ""))
		} else {
			e := Expression{
				ExpressionAccessor: &matchconditions.MatchCondition{Expression: text},
				Uses:               plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true},
				Stored:             stored, Written: text,
			}
			f.Merge(e.Check(plainCompiler(), path.Child("expression")))
		}
		if c.Name == "" {
			f.Add(field.Required(path.Child("name"), ""))
			continue
		}
		f.Merge(Qualified(path.Child("name"), c.Name))
		f.AddIf(names.Has(c.Name), field.Duplicate(path.Child("name"), c.Name))
		names.Insert(c.Name)
	}
	return f.Errs
}

var (
	celIdentifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)
	// celReserved are the words of the CEL specification that no name may be.
	celReserved = strings.Fields("true false null in as break const continue else for function if import let " +
		"loop package namespace return var void while")
)

func isCELIdentifier(s string) bool {
	return celIdentifier.MatchString(s) && !slices.Contains(celReserved, s)
}
