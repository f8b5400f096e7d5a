package trace

import (
	"fmt"
	"slices"
	"strings"
)

// whyPolicy returns an answer for each binding of a policy, or only for the binding that the target names. If the
// bindings weren't considered, there is one answer for the whole policy. whyPolicy has the same arguments as Why.
func whyPolicy(target Reference, configured Configured, request *Request, evaluated bool) []Answer {
	policy, again := request.metPolicy(target)
	switch {
	case policy == nil:
		return []Answer{answer(target, request.unmet(target, configured), request, evaluated)}
	case policy.Verdict.Reason != Matched || len(policy.Bindings) == 0:
		return []Answer{answer(target, policy.Verdict, request, evaluated)}
	}
	var answers []Answer
	for _, binding := range policy.Bindings {
		if target.Part == "" || target.Part == binding.Name {
			answers = append(answers, policy.why(binding, again, request, evaluated))
		}
	}
	if len(answers) == 0 {
		verdict := configured.missing()
		if slices.Contains(configured.Webhooks, target.Part) {
			verdict = Verdict{Reason: ConfiguredLater}
		}
		answers = []Answer{answer(target, verdict, request, evaluated)}
	}
	return answers
}

// metPolicy returns the records of a policy in the last pass of the request through the admission chain. A pass has one
// record of a policy, or two if the chain called a mutating policy in a second round. met is the first record in which
// a binding was evaluated. If no binding was evaluated, met is the first record. again is the other record, or nil.
func (r *Request) metPolicy(target Reference) (met, again *Policy) {
	if len(r.Admissions) == 0 {
		return nil, nil
	}
	for _, step := range r.Admissions[len(r.Admissions)-1].Steps {
		for _, p := range step.Policies {
			switch {
			case p.Kind != target.Kind || p.Name != target.Name:
			case met == nil || !met.evaluated() && p.evaluated():
				met = p
			default:
				again = p
			}
		}
	}
	return met, again
}

// evaluated reports whether expressions of the policy were evaluated, apart from match conditions.
func (p *Policy) evaluated() bool {
	return slices.ContainsFunc(p.Bindings, func(b *Binding) bool {
		e := b.decisive()
		return e != nil && e.Outcome != ""
	})
}

// outcomes are the outcomes of an evaluation, in the order of their weight.
var outcomes = []string{"", Allowed, FailedOpen, Reported, Failed, Denied}

// Outweighs reports whether the argument outcome decides if two evaluations have different outcomes: outcome and other.
// For example, Denied outweighs Allowed.
func Outweighs(outcome, other string) bool {
	return slices.Index(outcomes, outcome) > slices.Index(outcomes, other)
}

// decisive returns the evaluation whose outcome outweighs the others, or nil for a binding without evaluations.
func (b *Binding) decisive() *Evaluation {
	var decisive *Evaluation
	for _, e := range b.Evaluations {
		if decisive == nil || Outweighs(e.Outcome, decisive.Outcome) {
			decisive = e
		}
	}
	return decisive
}

// why returns the answer for a binding of the policy. again is the record of the policy in a later round, or nil.
// evaluated is true for a dry run of Recorder.Evaluate.
func (p *Policy) why(b *Binding, again *Policy, request *Request, evaluated bool) Answer {
	reference := Reference{p.Kind, p.Name, b.Name}
	e, verdict := b.decisive(), b.verdict()
	switch {
	case e == nil || b.Verdict.Reason != Matched || e.Verdict.Reason != Matched:
		return answer(reference, verdict, request, evaluated)
	case e.Outcome == Allowed:
		verdict = p.Verdict
	}
	a := Answer{Webhook: reference, Called: true, Verdict: verdict, Request: request.ID, Evaluated: evaluated}
	if again != nil {
		a.Again = again.skipped(b.Name)
	}
	a.Sentence = sentence(a, effectOf(p, e), request)
	return a
}

// verdict returns the verdict about the binding, or about its decisive evaluation if the binding applies.
func (b *Binding) verdict() Verdict {
	e := b.decisive()
	switch {
	case b.Verdict.Reason != Matched || e == nil:
		return b.Verdict
	case e.Verdict.Reason != Matched || e.Outcome == Allowed:
		return e.Verdict
	}
	return b.decidedBy(e)
}

// skipped returns the reason why the policy wasn't evaluated for a binding: the verdict about the policy, about the
// binding, or about the evaluation. It returns nil if the policy was evaluated, or if p has no record of the binding.
func (p *Policy) skipped(binding string) *Verdict {
	if p.Verdict.Reason != Matched {
		return &p.Verdict
	}
	for _, b := range p.Bindings {
		switch e := b.decisive(); {
		case b.Name != binding:
		case b.Verdict.Reason != Matched:
			return &b.Verdict
		case e != nil && e.Verdict.Reason != Matched:
			return &e.Verdict
		}
	}
	return nil
}

// effectOf describes the effect of an evaluation on the request. It returns "" for any outcome but Allowed.
func effectOf(p *Policy, e *Evaluation) string {
	with := ""
	if e.Param != nil {
		with = " with the parameters of " + e.Param.String()
	}
	switch {
	case e.Outcome != Allowed:
		return ""
	case p.Kind == ValidatingPolicy:
		return "it allowed the request" + with
	case len(e.After) == 0:
		return "it changed nothing" + with
	}
	return "it changed the object" + with
}

// decidedBy returns the verdict about an evaluation with any outcome but Allowed. The verdict names the expression that
// decided.
func (b *Binding) decidedBy(e *Evaluation) Verdict {
	x := e.culprit()
	verdict := Verdict{Field: x.Field, Want: x.Expression, Got: e.variables(), Detail: x.Message}
	failed := x.Error != ""
	if failed {
		verdict = Verdict{Field: x.Field, Detail: x.Error}
	}
	switch {
	case e.Outcome == FailedOpen:
		verdict.Reason, verdict.Want = ExpressionIgnored, "Ignore"
	case e.Outcome == Reported && failed:
		verdict.Reason, verdict.Want = ExpressionReported, list(b.Actions)
	case e.Outcome == Reported:
		verdict.Reason, verdict.By = ValidationReported, list(b.Actions)
	case failed:
		verdict.Reason, verdict.Want = ExpressionFailed, "Fail"
	default:
		verdict.Reason = ValidationFalse
	}
	return verdict
}

// culprit returns the expression that caused the outcome: the first expression that failed, or else the first
// validation that is false. If the outcome is Denied, an expression that failed isn't the culprit. If no expression
// failed and no validation is false, the culprit has the evaluation's error, and the field of the last mutation, whose
// patch couldn't be applied. For a validating policy, which failed before its validations, the field is spec.
func (e *Evaluation) culprit() Expression {
	for _, x := range e.Expressions {
		if e.Outcome != Denied && x.Error != "" {
			return *x
		}
	}
	for _, x := range e.Expressions {
		if strings.HasPrefix(x.Field, "spec.validations[") && x.Value == "false" && strings.HasSuffix(x.Field, ".expression") {
			return *x
		}
	}
	last := Expression{Field: "spec", Error: e.Error}
	for _, x := range e.Expressions {
		if strings.HasPrefix(x.Field, "spec.mutations[") {
			last.Field = x.Field
		}
	}
	return last
}

// variables returns the values of the policy's variables that the evaluation has used, and the name of its parameter
// object.
func (e *Evaluation) variables() string {
	var values []string
	for _, x := range e.Expressions {
		if strings.HasPrefix(x.Field, "spec.variables[") && x.Error == "" {
			values = append(values, fmt.Sprintf("%s = %s", x.Field, shortened(x.Value)))
		}
	}
	if e.Param != nil {
		values = append(values, "the parameters are "+e.Param.String())
	}
	return strings.Join(values, ", ")
}

func list(values []string) string { return "[" + strings.Join(values, ", ") + "]" }
