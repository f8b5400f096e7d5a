package admissionpolicy

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// newCompiler returns a CEL compiler with the policy's variables. It also returns declarations: these say which
// optional CEL variables, such as params, the expressions of the policy may use.
func newCompiler(paramKind *admissionregistrationv1.ParamKind, variables []admissionregistrationv1.Variable) (*cel.CompositedCompiler, cel.OptionalVariableDeclarations, error) {
	declarations := cel.OptionalVariableDeclarations{HasParams: paramKind != nil, HasAuthorizer: true}
	// k8s.io/apiserver makes one CEL environment for each version, and shares it between all servers of the
	// process.
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, declarations, err
	}
	observe(compiler, variables)
	compiler.CompileAndStoreVariables(accessors(variables, func(v *admissionregistrationv1.Variable) cel.NamedExpressionAccessor {
		return &validating.Variable{Name: v.Name, Expression: v.Expression}
	}), declarations, environment.StoredExpressions)
	return compiler, declarations, nil
}

// compileMatcher compiles the match conditions of a policy. It returns nil if the policy has none.
func compileMatcher(compiler *cel.CompositedCompiler, declarations cel.OptionalVariableDeclarations, policy string, conditions []admissionregistrationv1.MatchCondition, failurePolicy *admissionregistrationv1.FailurePolicyType) matchconditions.Matcher {
	if len(conditions) == 0 {
		return nil
	}
	expressions := accessors(conditions, func(c *admissionregistrationv1.MatchCondition) cel.ExpressionAccessor {
		return (*matchconditions.MatchCondition)(c)
	})
	compiled := &observedConditions{compiler.CompileCondition(expressions, declarations, environment.StoredExpressions), func(i int) string {
		return fmt.Sprintf("spec.matchConditions[%d] (%s)", i, conditions[i].Name)
	}, matchConditions}
	// k8s.io/apiserver's metrics have the label "validate" here, even for mutating policies.
	return matchconditions.NewMatcher(compiled, failurePolicy, "policy", "validate", policy)
}

// compileValidating compiles a ValidatingAdmissionPolicy. An error in an expression isn't returned: the validator
// reports it to each request that matches the policy.
func compileValidating(policy *validating.Policy) validating.Validator {
	spec := &policy.Spec
	compiler, declarations, err := newCompiler(spec.ParamKind, spec.Variables)
	if err != nil {
		return &observedValidator{validating.NewValidator(nil, nil, nil, nil, spec.FailurePolicy, err)}
	}
	// The message of a validation must not depend on the user's permissions, so its expression has no authorizer.
	messageDeclarations := declarations
	messageDeclarations.HasAuthorizer = false

	conditions := accessors(spec.Validations, func(v *admissionregistrationv1.Validation) cel.ExpressionAccessor {
		return &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
	})
	messageExpressions := accessors(spec.Validations, func(v *admissionregistrationv1.Validation) cel.ExpressionAccessor {
		if v.MessageExpression == "" {
			return nil
		}
		return &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
	})
	annotations := accessors(spec.AuditAnnotations, func(a *admissionregistrationv1.AuditAnnotation) cel.ExpressionAccessor {
		return &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression}
	})
	return &observedValidator{validating.NewValidator(
		&observedConditions{compiler.CompileCondition(conditions, declarations, environment.StoredExpressions), func(i int) string {
			return fmt.Sprintf("spec.validations[%d].expression", i)
		}, validations},
		compileMatcher(compiler, declarations, policy.Name, spec.MatchConditions, spec.FailurePolicy),
		&observedConditions{compiler.CompileCondition(annotations, declarations, environment.StoredExpressions), func(i int) string {
			return fmt.Sprintf("spec.auditAnnotations[%d] (%s)", i, spec.AuditAnnotations[i].Key)
		}, auditAnnotations},
		&observedConditions{compiler.CompileCondition(messageExpressions, messageDeclarations, environment.StoredExpressions), func(i int) string {
			return fmt.Sprintf("spec.validations[%d].messageExpression", i)
		}, messages},
		spec.FailurePolicy,
		nil,
	)}
}

// compileMutating compiles a MutatingAdmissionPolicy with its mutations, in their order. An error in an expression
// isn't returned: it is reported to each request that matches the policy.
func compileMutating(policy *mutating.Policy) mutating.PolicyEvaluator {
	spec := &policy.Spec
	compiler, declarations, err := newCompiler(spec.ParamKind, spec.Variables)
	if err != nil {
		return mutating.PolicyEvaluator{Error: &apiservercel.Error{
			Type:   apiservercel.ErrorTypeInternal,
			Detail: fmt.Sprintf("failed to initialize CEL compiler: %v", err),
		}}
	}
	patchDeclarations := declarations
	patchDeclarations.HasPatchTypes = true

	var patchers []patch.Patcher
	compile := func(i int, patchType string, condition cel.ExpressionAccessor) cel.MutatingEvaluator {
		compiled := compiler.CompileMutatingEvaluator(condition, patchDeclarations, environment.StoredExpressions)
		return &observedMutation{compiled, fmt.Sprintf("spec.mutations[%d].%s.expression", i, patchType)}
	}
	for i, mutation := range spec.Mutations {
		switch {
		case mutation.PatchType == admissionregistrationv1.PatchTypeJSONPatch && mutation.JSONPatch != nil:
			condition := &patch.JSONPatchCondition{Expression: mutation.JSONPatch.Expression}
			patchers = append(patchers, &observedPatcher{patch.NewJSONPatcher(compile(i, "jsonPatch", condition))})
		case mutation.PatchType == admissionregistrationv1.PatchTypeApplyConfiguration && mutation.ApplyConfiguration != nil:
			condition := &patch.ApplyConfigurationCondition{Expression: mutation.ApplyConfiguration.Expression}
			patchers = append(patchers, &observedPatcher{patch.NewApplyConfigurationPatcher(compile(i, "applyConfiguration", condition))})
		}
	}
	return mutating.PolicyEvaluator{
		Matcher:            compileMatcher(compiler, declarations, policy.Name, spec.MatchConditions, spec.FailurePolicy),
		Mutators:           patchers,
		CompositedCompiler: compiler,
	}
}

// accessors converts a list of the API's type into a list of the compiler's type.
func accessors[From, To any](list []From, convert func(*From) To) []To {
	converted := make([]To, len(list))
	for i := range list {
		converted[i] = convert(&list[i])
	}
	return converted
}
