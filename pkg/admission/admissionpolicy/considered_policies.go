package admissionpolicy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy/subexpressions"
	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// consideration records what a plugin does with its policies for one request. For validating policies, k8s.io/apiserver
// reports its progress in this order: a policy, one of its bindings, an evaluation for the binding, the expressions of
// the evaluation. For mutating policies, all policies and bindings come before the first evaluation.
type consideration struct {
	scope      *recorder.Scope
	explainer  *explain.Explainer
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	// candidates are the plugin's policies, by name. kind is their kind.
	candidates map[string]*candidate
	kind       string

	// policy is the policy that is compared with the request or evaluated at the moment. binding and evaluation are its
	// binding and its evaluation at the moment. Each of the three is nil while there is none.
	policy     *candidate
	binding    *bound
	evaluation *evaluation
}

// candidate is a policy that may match the request.
type candidate struct {
	generic.PolicyAccessor
	record *trace.Policy
	// configuration is the error in the policy's configuration, such as an unknown paramKind; nil if there is none.
	configuration error
	// params returns the parameter objects that a binding selects.
	params func(generic.BindingAccessor) ([]runtime.Object, error)
	// reinvocation is the reinvocationPolicy of a mutating policy.
	reinvocation admissionregistrationv1.ReinvocationPolicyType
	bindings     []*bound
}

// bound is a binding of a policy, with its record.
type bound struct {
	generic.BindingAccessor
	record *trace.Binding
}

// evaluation is the record of an evaluation, with the data that is needed to complete it.
type evaluation struct {
	record *trace.Evaluation
	// hides is true if values of expressions could show secrets, and must not be recorded.
	hides bool
	// parts has the values of the parts of expressions, by the expression.
	parts map[string]trace.Expression
	// validations are the records of the policy's validations.
	validations []*trace.Expression
	// patched is the object that the mutations change. before is its JSON before the first mutation. Both are nil
	// until the first mutation begins.
	patched *admission.VersionedAttributes
	before  json.RawMessage
}

type considerationKey struct{}

// considered returns the consideration in a context. It returns nil if the request isn't recorded.
func considered(ctx context.Context) *consideration {
	c, _ := ctx.Value(considerationKey{}).(*consideration)
	return c
}

// failurePolicy returns the failurePolicy of a policy. The default is Fail.
func (p *candidate) failurePolicy() admissionregistrationv1.FailurePolicyType {
	if configured := p.GetFailurePolicy(); configured != nil {
		return *configured
	}
	return admissionregistrationv1.Fail
}

// failed returns the verdict about a policy or a binding that couldn't be applied because of an error. The
// failurePolicy decides about the request.
func (p *candidate) failed(err error) trace.Verdict {
	return trace.Verdict{Reason: trace.PolicyFailed, Want: string(p.failurePolicy()), Detail: err.Error()}
}

// considers records a policy, and whether k8s.io/apiserver has found that it matches.
func (c *consideration) considers(name string, matches bool, err error) *candidate {
	c.policy, c.binding = c.candidates[name], nil
	p := c.policy
	var verdict trace.Verdict
	switch {
	case err != nil:
		verdict = p.failed(err)
	case matches && p.configuration != nil:
		err, verdict = p.configuration, p.failed(p.configuration)
	default:
		verdict = c.verdict(p.GetMatchConstraints(), "spec.matchConstraints", matches)
	}
	p.record = &trace.Policy{Reference: trace.Reference{Kind: c.kind, Name: name}, Verdict: verdict}
	c.scope.Update(func(*trace.Request) {
		c.scope.Step.Policies = append(c.scope.Step.Policies, p.record)
		if err != nil && p.failurePolicy() == admissionregistrationv1.Fail {
			c.scope.Pass.Refuse(p.record, nil)
		}
	})
	return p
}

// binds records a binding of the current policy, and whether k8s.io/apiserver has found that it matches.
func (c *consideration) binds(binding generic.BindingAccessor, actions []admissionregistrationv1.ValidationAction, matches bool, err error) *bound {
	b := &bound{binding, &trace.Binding{Name: binding.GetName()}}
	c.binding = b
	c.policy.bindings = append(c.policy.bindings, b)
	for _, action := range actions {
		b.record.Actions = append(b.record.Actions, string(action))
	}
	switch resources := binding.GetMatchResources(); {
	case err != nil:
		b.record.Verdict = c.policy.failed(err)
	case resources == nil:
		b.record.Verdict = trace.Verdict{Reason: trace.Matched}
	default:
		b.record.Verdict = c.verdict(resources, "spec.matchResources", matches)
	}
	c.scope.Update(func(*trace.Request) {
		c.policy.record.Bindings = append(c.policy.record.Bindings, b.record)
		if err != nil && c.policy.failurePolicy() == admissionregistrationv1.Fail {
			c.scope.Pass.Refuse(c.policy.record, b.record)
		}
	})
	return b
}

// verdict explains k8s.io/apiserver's decision whether constraints match. matches is that decision.
func (c *consideration) verdict(resources *admissionregistrationv1.MatchResources, path string, matches bool) trace.Verdict {
	m := explain.Matching{Constraints: explain.Resources(resources), Path: path, Attributes: c.attributes, Interfaces: c.interfaces}
	if matches {
		matched, _ := m.Rules()
		return matched.Verdict()
	}
	m.Earlier = c.scope.Objects
	verdict, _ := c.explainer.Explain(m)
	return verdict
}

// evaluates records that an evaluation of the current policy begins, for the current binding and the parameter object
// params. params may be nil.
func (c *consideration) evaluates(params runtime.Object) {
	c.finishEvaluation()
	e := &evaluation{record: &trace.Evaluation{Verdict: trace.Verdict{Reason: trace.Matched}}, hides: c.scope.Hides(c.scope.Pass.Kind)}
	if kind := c.policy.GetParamKind(); kind != nil && params != nil {
		e.record.Param = c.param(kind, params)
		version := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
		e.hides = e.hides || c.scope.Hides(trace.Kind{Group: version.Group, Version: version.Version, Kind: version.Kind})
	}
	c.evaluation = e
	c.scope.Update(func(*trace.Request) {
		c.binding.record.Evaluations = append(c.binding.record.Evaluations, e.record)
	})
}

// param returns the record of a parameter object. The kind comes from the policy, because an object of a built-in
// kind doesn't carry it.
func (c *consideration) param(kind *admissionregistrationv1.ParamKind, params runtime.Object) *trace.Param {
	param := &trace.Param{APIVersion: kind.APIVersion, Kind: kind.Kind}
	version := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	var content any = params
	if converted, ok := params.(interface{ ToUnstructured() any }); ok {
		// For a validating policy, k8s.io/apiserver wraps an object that doesn't carry its kind. The content of the
		// wrapper has the kind.
		content = converted.ToUnstructured()
	} else if params.GetObjectKind().GroupVersionKind().Empty() {
		identified := params.DeepCopyObject() // all requests share the informer's object
		identified.GetObjectKind().SetGroupVersionKind(version)
		content = identified
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return param // the error is impossible: each API object can be encoded as JSON
	}
	var identity struct {
		Metadata struct{ Namespace, Name string }
	}
	if accessor, err := meta.Accessor(params); err == nil {
		identity.Metadata.Namespace, identity.Metadata.Name = accessor.GetNamespace(), accessor.GetName()
	} else {
		_ = json.Unmarshal(encoded, &identity) // no error: encoded is valid JSON
	}
	param.Namespace, param.Name = identity.Metadata.Namespace, identity.Metadata.Name
	param.Object = c.scope.Object(trace.Kind{Group: version.Group, Version: version.Version, Kind: version.Kind}, encoded)
	return param
}

// expression records the value of an expression. A variable that several expressions use is recorded once.
func (c *consideration) expression(field, expression string, value ref.Val, err error, took time.Duration) *trace.Expression {
	e := c.evaluation
	if e == nil {
		return nil
	}
	parts := e.parts[expression]
	x := &trace.Expression{Field: field, Expression: expression, Took: trace.Duration(took), Parts: parts.Parts, Branches: parts.Branches}
	x.Value, x.Error = e.outcomeOf(value, err)
	same := func(other *trace.Expression) bool {
		return other.Field == x.Field && other.Value == x.Value && other.Error == x.Error
	}
	c.scope.Update(func(*trace.Request) {
		if !slices.ContainsFunc(e.record.Expressions, same) {
			e.record.Expressions = append(e.record.Expressions, x)
		}
	})
	return x
}

// outcomeOf returns the value of an expression as a text, or the text of its error.
func (e *evaluation) outcomeOf(value ref.Val, err error) (text, failure string) {
	switch {
	case err != nil:
		return "", err.Error()
	case value == nil:
		return "", ""
	}
	if _, isBool := value.(celtypes.Bool); e.hides && !isBool {
		return trace.Redacted, ""
	}
	return textOf(value), ""
}

// observed keeps the values of the parts of an expression until the expression itself is recorded. The argument against is
// true if the values explain why the expression is against the request.
func (c *consideration) observed(expression string, of *subexpressions.Expression, values subexpressions.Values, against bool) {
	if c.evaluation == nil {
		return
	}
	var parts trace.Expression
	if against {
		for _, value := range values.Parts {
			part := trace.Part{Expression: value.Expression}
			if failed, isError := value.Value.(*celtypes.Err); isError {
				part.Error = failed.Error()
			} else {
				part.Value, _ = c.evaluation.outcomeOf(value.Value, nil)
			}
			parts.Parts = append(parts.Parts, part)
		}
	}
	if c.scope.Branches() {
		for i, outcome := range values.Conditions {
			parts.Branches = append(parts.Branches, trace.Branch{Expression: of.Conditions[i].Expression, True: outcome.True, False: outcome.False})
		}
	}
	if c.evaluation.parts == nil {
		c.evaluation.parts = map[string]trace.Expression{}
	}
	c.evaluation.parts[expression] = parts
}

// conditions records the values of expressions that were evaluated together, such as all match conditions.
func (c *consideration) conditions(o *observedConditions, results []cel.EvaluationResult, err error) {
	for i, result := range results {
		if result.ExpressionAccessor == nil {
			continue // a validation without a messageExpression
		}
		x := c.expression(o.field(i), result.ExpressionAccessor.GetExpression(), result.EvalResult, result.Error, result.Elapsed)
		if o.role == validations && c.evaluation != nil {
			c.evaluation.validations = append(c.evaluation.validations, x)
		}
	}
	if o.role != matchConditions || c.evaluation == nil {
		return
	}
	verdict := explain.Conditions{All: "spec.matchConditions", Field: o.field, FailurePolicy: c.policy.GetFailurePolicy(), Results: results, Err: err}.Verdict()
	if verdict == nil {
		return
	}
	c.scope.Update(func(*trace.Request) {
		c.evaluation.record.Verdict = *verdict
		// Don't record the failure of a validating policy here: its decisions have the failure too, and the method
		// decided records them.
		if c.kind == trace.MutatingPolicy && verdict.Reason != trace.MatchConditionFalse && c.policy.failurePolicy() == admissionregistrationv1.Fail {
			c.fail("")
		}
	})
}

// fail records that the current evaluation failed. The failurePolicy decides whether the request is refused. fail must
// be called in the function that Scope.Update runs.
func (c *consideration) fail(message string) {
	c.evaluation.record.Error, c.evaluation.record.Outcome = message, trace.FailedOpen
	if c.policy.failurePolicy() == admissionregistrationv1.Fail {
		c.evaluation.record.Outcome = trace.Failed
		c.scope.Pass.Refuse(c.policy.record, c.binding.record)
	}
}

// decided records the decisions of a validating policy after an evaluation.
func (c *consideration) decided(result validating.ValidateResult) {
	e, denies := c.evaluation, slices.Contains(c.binding.record.Actions, string(admissionregistrationv1.Deny))
	outcome := ""
	decides := func(another string) {
		if trace.Outweighs(another, outcome) {
			outcome = another
		}
	}
	c.scope.Update(func(*trace.Request) {
		for i, decision := range result.Decisions {
			decides(outcomeOf(decision, denies))
			if decision.Evaluation == validating.EvalAdmit {
				continue
			}
			if len(e.validations) == len(result.Decisions) {
				e.validations[i].Message = decision.Message
			} else { // the failure came before the validations
				e.record.Error = cmp.Or(e.record.Error, decision.Message)
			}
		}
		for _, annotation := range result.AuditAnnotations {
			if annotation.Action == validating.AuditAnnotationActionError {
				decides(trace.Failed)
			}
		}
		e.record.Outcome = outcome
		if outcome == trace.Denied || outcome == trace.Failed {
			c.scope.Pass.Refuse(c.policy.record, c.binding.record)
		}
	})
}

// outcomeOf returns the outcome of one validation. denies is true if the binding's actions include Deny.
func outcomeOf(decision validating.PolicyDecision, denies bool) string {
	failed := decision.Evaluation == validating.EvalError
	switch {
	case decision.Action == validating.ActionAdmit && failed:
		return trace.FailedOpen
	case decision.Action == validating.ActionAdmit:
		return trace.Allowed
	case !denies:
		return trace.Reported
	case failed:
		return trace.Failed
	}
	return trace.Denied
}

// patches records the object before the first mutation of the current evaluation.
func (c *consideration) patches(attributes *admission.VersionedAttributes) {
	if c.evaluation != nil && c.evaluation.patched == nil {
		c.evaluation.patched, c.evaluation.before = attributes, c.object(attributes)
	}
}

// mutated records the result of a mutation.
func (c *consideration) mutated(err error) {
	if c.evaluation == nil {
		return
	}
	c.scope.Update(func(*trace.Request) {
		if err != nil {
			c.fail(err.Error())
		} else {
			c.evaluation.record.Outcome = cmp.Or(c.evaluation.record.Outcome, trace.Allowed)
		}
	})
}

func (c *consideration) object(attributes *admission.VersionedAttributes) json.RawMessage {
	encoded, err := json.Marshal(attributes.VersionedObject.Object())
	if err != nil {
		return nil // the error is impossible: each API object can be encoded as JSON
	}
	kind := attributes.VersionedKind
	return c.scope.Object(trace.Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}, encoded)
}

// finishEvaluation completes the record of the current evaluation. It is called when the next evaluation begins, and
// when the plugin has finished the request.
func (c *consideration) finishEvaluation() {
	e := c.evaluation
	c.evaluation = nil
	if e == nil {
		return
	}
	if e.patched != nil {
		if after := c.object(e.patched); !bytes.Equal(e.before, after) {
			c.scope.Update(func(*trace.Request) { e.record.Before, e.record.After = e.before, after })
		}
		return
	}
	if e.record.Verdict.Reason != trace.Matched || c.policy.reinvocation == "" || !c.attributes.GetReinvocationContext().IsReinvoke() {
		return
	}
	// The match conditions are true, but k8s.io/apiserver has skipped the mutations in the second round.
	verdict := trace.Verdict{Reason: trace.ReinvocationUnneeded}
	if c.policy.reinvocation == admissionregistrationv1.NeverReinvocationPolicy {
		verdict = trace.Verdict{Reason: trace.ReinvocationNever, Field: "spec.reinvocationPolicy", Want: string(c.policy.reinvocation)}
	}
	c.scope.Update(func(*trace.Request) { e.record.Verdict = verdict })
}

// noParams is the beginning of k8s.io/apiserver's error if a binding requires parameters and finds none. The error has
// no type.
const noParams = "no params found"

// required reports whether a binding requires parameters.
func required(ref *admissionregistrationv1.ParamRef) bool {
	return ref != nil && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == admissionregistrationv1.DenyAction
}

// end completes all records. err is the error with which the plugin refused the request, or nil.
func (c *consideration) end(err error) {
	c.finishEvaluation()
	for _, p := range c.candidates {
		for _, b := range p.bindings {
			if len(b.record.Evaluations) > 0 || b.record.Verdict.Reason != trace.Matched || p.record.Verdict.Reason != trace.Matched {
				continue
			}
			params, failure := p.params(b.BindingAccessor)
			verdict := trace.Verdict{Reason: trace.ParamsMissing, Field: "spec.paramRef"}
			switch {
			case failure != nil:
				verdict = p.failed(failure)
				if required(b.GetParamRef()) && strings.Contains(failure.Error(), noParams) {
					verdict.Reason, verdict.Field = trace.ParamsRequired, "spec.paramRef.parameterNotFoundAction"
				}
			case len(params) > 0 && err != nil:
				verdict = trace.Verdict{Reason: trace.RefusedEarlier, By: "admission plugin " + c.scope.Step.Plugin, Detail: err.Error()}
			}
			c.scope.Update(func(*trace.Request) {
				b.record.Verdict = verdict
				if failure != nil && p.failurePolicy() == admissionregistrationv1.Fail {
					c.scope.Pass.Refuse(p.record, b.record)
				}
			})
		}
	}
}
