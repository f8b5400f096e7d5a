package admissionpolicy

import (
	"context"
	"fmt"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
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
	// parts evaluates the parts of an expression that is false or fails. It is nil if the values of parts say nothing.
	parts *subexpressions
}

// ForInput implements cel.ConditionEvaluator.
func (o *observedConditions) ForInput(ctx context.Context, attributes *admission.VersionedAttributes, request *admissionv1.AdmissionRequest, bindings cel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64) ([]cel.EvaluationResult, int64, error) {
	results, remaining, err := o.ConditionEvaluator.ForInput(ctx, attributes, request, bindings, namespace, budget)
	if c := considered(ctx); c != nil {
		recorded := c.conditions(o, results, err)
		for i, result := range results {
			if o.parts != nil && recorded[i] != nil && decides(result) {
				c.subexpressions(recorded[i], o.parts.evaluate(ctx, i, attributes, request, bindings, namespace))
			}
		}
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

// observedVariables wraps the compiler of a policy's variables, to record the value of each variable.
type observedVariables struct {
	cel.Compiler
	index map[string]int
}

func observeVariables(compiler cel.Compiler, variables []admissionregistrationv1.Variable) cel.Compiler {
	index := make(map[string]int, len(variables))
	for i, variable := range variables {
		index[variable.Name] = i
	}
	return &observedVariables{compiler, index}
}

// CompileCELExpression implements cel.Compiler.
func (o *observedVariables) CompileCELExpression(accessor cel.ExpressionAccessor, options cel.OptionalVariableDeclarations, mode environment.Type) cel.CompilationResult {
	result := o.Compiler.CompileCELExpression(accessor, options, mode)
	if named, ok := accessor.(cel.NamedExpressionAccessor); ok && result.Program != nil {
		field := fmt.Sprintf("spec.variables[%d] (%s)", o.index[named.GetName()], named.GetName())
		result.Program = &observedProgram{result.Program, field, accessor.GetExpression()}
	}
	return result
}

// observedProgram wraps the compiled expression of a variable. A variable is evaluated when another expression uses
// it.
type observedProgram struct {
	celgo.Program
	field, expression string
}

// ContextEval implements celgo.Program.
func (o *observedProgram) ContextEval(ctx context.Context, input any) (ref.Val, *celgo.EvalDetails, error) {
	c := considered(ctx)
	if c == nil {
		return o.Program.ContextEval(ctx, input)
	}
	started := time.Now()
	value, details, err := o.Program.ContextEval(ctx, input)
	c.expression(o.field, o.expression, value, err, time.Since(started))
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
