package admissionpolicy

import (
	"context"
	"fmt"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy/subexpressions"
)

// The types of this file wrap the compiled expressions of a policy, and pass every call on to these expressions. The
// context of a recorded request has a consideration (see recorded.go). A consideration is the record of the policies
// that a plugin evaluates for the request. The wrappers add the values of the expressions to the consideration.

// observedConditions wraps expressions of one role, such as the match conditions of a policy.
type observedConditions struct {
	cel.ConditionEvaluator
	// field returns the path of the expression with an index, such as spec.validations[0].expression.
	field func(int) string
	role  role
}

// ForInput implements cel.ConditionEvaluator.
func (o *observedConditions) ForInput(ctx context.Context, attributes *admission.VersionedAttributes, request *admissionv1.AdmissionRequest, bindings cel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64) ([]cel.EvaluationResult, int64, error) {
	results, remaining, err := o.ConditionEvaluator.ForInput(ctx, attributes, request, bindings, namespace, budget)
	if c := considered(ctx); c != nil {
		c.conditions(o, results, err)
	}
	return results, remaining, err
}

// role says what a list of expressions is for.
type role int

const (
	matchConditions role = iota
	validations
	messages
	auditAnnotations
)

// observedMutation wraps the expression of a mutation.
type observedMutation struct {
	cel.MutatingEvaluator
	field string
}

// ForInput implements cel.MutatingEvaluator.
func (o *observedMutation) ForInput(ctx context.Context, attributes *admission.VersionedAttributes, request *admissionv1.AdmissionRequest, bindings cel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64) (cel.EvaluationResult, int64, error) {
	result, remaining, err := o.MutatingEvaluator.ForInput(ctx, attributes, request, bindings, namespace, budget)
	if c := considered(ctx); c != nil && result.ExpressionAccessor != nil {
		c.expression(o.field, result.ExpressionAccessor.GetExpression(), result.EvalResult, result.Error, result.Elapsed)
	}
	return result, remaining, err
}

// observedPatcher wraps the patcher that applies a mutation.
type observedPatcher struct{ patch.Patcher }

// Patch implements patch.Patcher.
func (o *observedPatcher) Patch(ctx context.Context, request patch.Request, budget int64) (runtime.Object, error) {
	c := considered(ctx)
	if c == nil {
		return o.Patcher.Patch(ctx, request, budget)
	}
	c.patches(request.VersionedAttributes)
	object, err := o.Patcher.Patch(ctx, request, budget)
	c.mutated(err)
	return object, err
}

// observedCompiler wraps the compiler of a policy's expressions, to record the value of each variable and of the parts of
// expressions.
type observedCompiler struct {
	cel.Compiler
	// variables are the indices of the policy's variables.
	variables map[string]int
}

// observe makes all expressions that a compiler compiles observed ones.
func observe(compiler *cel.CompositedCompiler, variables []admissionregistrationv1.Variable) {
	observed := &observedCompiler{compiler.Compiler, make(map[string]int, len(variables))}
	for i, variable := range variables {
		observed.variables[variable.Name] = i
	}
	compiler.Compiler, compiler.ConditionCompiler, compiler.MutatingCompiler = observed, observed, observed
}

// CompileCELExpression implements cel.Compiler.
func (o *observedCompiler) CompileCELExpression(accessor cel.ExpressionAccessor, options cel.OptionalVariableDeclarations, mode environment.Type) cel.CompilationResult {
	result := o.Compiler.CompileCELExpression(accessor, options, mode)
	if result.Program == nil {
		return result
	}
	program := &observedProgram{Program: result.Program, expression: accessor.GetExpression()}
	switch accessor := accessor.(type) {
	case cel.NamedExpressionAccessor:
		program.variable = fmt.Sprintf("spec.variables[%d] (%s)", o.variables[accessor.GetName()], accessor.GetName())
	case *validating.ValidationCondition, *matchconditions.MatchCondition:
		program.decides = true
	}
	result.Program = program
	return result
}

// CompileCondition implements cel.ConditionCompiler.
func (o *observedCompiler) CompileCondition(accessors []cel.ExpressionAccessor, options cel.OptionalVariableDeclarations, mode environment.Type) cel.ConditionEvaluator {
	results := make([]cel.CompilationResult, len(accessors))
	for i, accessor := range accessors {
		if accessor != nil {
			results[i] = o.CompileCELExpression(accessor, options, mode)
		}
	}
	return cel.NewCondition(results)
}

// CompileMutatingEvaluator implements cel.MutatingCompiler.
func (o *observedCompiler) CompileMutatingEvaluator(accessor cel.ExpressionAccessor, options cel.OptionalVariableDeclarations, mode environment.Type) cel.MutatingEvaluator {
	return cel.NewMutatingEvaluator(o.CompileCELExpression(accessor, options, mode))
}

// observedProgram wraps a compiled expression.
type observedProgram struct {
	celgo.Program
	expression string
	// variable is the path of a variable, and "" for other expressions. A variable is evaluated when another expression
	// uses it.
	variable string
	// decides is true for an expression that is against the request if it is false.
	decides bool
	// once parses the expression, when a recorded request needs its parts for the first time.
	once  sync.Once
	parts *subexpressions.Expression
}

// ContextEval implements celgo.Program.
func (o *observedProgram) ContextEval(ctx context.Context, input any) (ref.Val, *celgo.EvalDetails, error) {
	c := considered(ctx)
	if c == nil {
		return o.Program.ContextEval(ctx, input)
	}
	started := time.Now()
	value, details, err := o.Program.ContextEval(ctx, input)
	took := time.Since(started)
	against := o.decides && (err != nil || value == types.False)
	if variables, ok := input.(interpreter.Activation); ok && (against || c.scope.Branches()) {
		o.once.Do(func() { o.parts, _ = subexpressions.Parse(o.expression) }) // without parts, the record has the whole alone
		if o.parts != nil {
			c.observed(o.expression, o.parts, o.parts.Evaluate(ctx, variables), against)
		}
	}
	if o.variable != "" {
		c.expression(o.variable, o.expression, value, err, took)
	}
	return value, details, err
}

// observedValidator wraps the validator of a validating policy. Each call of the validator evaluates the policy for one
// binding and one parameter object.
type observedValidator struct{ validating.Validator }

// Validate implements validating.Validator.
func (o *observedValidator) Validate(ctx context.Context, resource schema.GroupVersionResource, attributes *admission.VersionedAttributes, params runtime.Object, namespace *corev1.Namespace, budget int64, authorizer authorizer.UnconditionalAuthorizer) validating.ValidateResult {
	c := considered(ctx)
	if c == nil {
		return o.Validator.Validate(ctx, resource, attributes, params, namespace, budget, authorizer)
	}
	c.evaluates(params)
	result := o.Validator.Validate(ctx, resource, attributes, params, namespace, budget, authorizer)
	c.decided(result)
	return result
}
