package coverage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// count adds to an outcome of the point at a path, if there is one.
func (o *object) count(path, outcome string) {
	if p := o.byPath[path]; p != nil {
		p.count(outcome, 1)
	}
}

// reachPolicy counts what a request reached of a policy and its bindings.
func (o *object) reachPolicy(request *trace.Request, pass *trace.Admission, p *trace.Policy, of map[trace.Reference]*object) {
	o.reachConstraints(source.Path{"spec", "matchConstraints"}, p.Verdict, request, pass)
	for _, b := range p.Bindings {
		if binding := of[trace.Reference{Kind: p.Kind + "Binding", Name: b.Name}]; binding != nil {
			binding.reachConstraints(source.Path{"spec", "matchResources"}, b.Verdict, request, pass)
			if len(b.Evaluations) > 0 {
				binding.count("spec", reached)
			}
		}
		for _, e := range b.Evaluations {
			o.reachEvaluation(e)
		}
	}
}

// reachEvaluation counts the expressions of an evaluation.
func (o *object) reachEvaluation(e *trace.Evaluation) {
	values := map[string]string{}
	for _, x := range e.Expressions {
		values[x.Field] = x.Value
	}
	for _, x := range e.Expressions {
		path := FieldOf(x.Field)
		// The server evaluates all messages, and uses that of a validation that isn't true.
		if validation, isMessage := strings.CutSuffix(path, ".messageExpression"); isMessage && values[validation+".expression"] == isTrue {
			continue
		}
		o.count(path, reached)
		o.count(path, x.Value)
		for i, p := range o.conditions[path] {
			if p != nil && i < len(x.Branches) {
				p.count(isTrue, x.Branches[i].True)
				p.count(isFalse, x.Branches[i].False)
			}
		}
	}
}

// FieldOf returns the path of an expression's field for the field of its record, such as spec.variables[0] (name).
func FieldOf(recorded string) string {
	path, _, _ := strings.Cut(recorded, " (")
	switch {
	case strings.HasPrefix(path, "spec.matchConditions["), strings.HasPrefix(path, "spec.variables["):
		return path + ".expression"
	case strings.HasPrefix(path, "spec.auditAnnotations["):
		return path + ".valueExpression"
	}
	return path
}

// reachWebhook counts what a request reached of a webhook.
func (o *object) reachWebhook(request *trace.Request, pass *trace.Admission, w *trace.Webhook) {
	at := source.Path{"webhooks", w.Index}
	o.reachConstraints(at, w.Verdict, request, pass)
	if w.Call != nil {
		o.count(at.String(), reached)
	}
	o.reachMatchConditions(request, pass, w)
}

// unselected are the reasons of verdicts that don't say whether selectors match: rules are compared first.
var unselected = map[trace.Reason]bool{
	trace.NoRules: true, trace.RuleGroup: true, trace.RuleVersion: true, trace.RuleResource: true, trace.RuleSubresource: true,
	trace.RuleName: true, trace.RuleScope: true, trace.RuleOperation: true, trace.RuleExcluded: true, trace.MatchPolicyExact: true,
	trace.MatchFailed: true, trace.NoBinding: true, trace.PolicyFailed: true, trace.RefusedEarlier: true,
}

// reachConstraints counts the elements of the rule that a request matched, and the selectors.
func (o *object) reachConstraints(path source.Path, verdict trace.Verdict, request *trace.Request, pass *trace.Admission) {
	of := request.Resource
	if verdict.As != nil {
		of = *verdict.As
	}
	if verdict.Reason == trace.Matched || verdict.Reason == trace.RuleExcluded {
		o.reachRule(verdict.Field, of, pass.Operation)
	}
	if unselected[verdict.Reason] {
		return
	}
	against := append([]string{verdict.Field}, verdict.Also...)
	for _, field := range []string{"namespaceSelector", "objectSelector"} {
		at, outcome := path.With(field).String(), matched
		if slices.ContainsFunc(against, func(field string) bool { return strings.HasPrefix(field, at) }) {
			outcome = ruledOut
		}
		o.count(at, outcome)
	}
}

// reachRule counts the elements of a rule that a request matches.
func (o *object) reachRule(rule string, of trace.Resource, operation string) {
	subresource := ""
	if of.Subresource != "" {
		subresource = "/" + of.Subresource
	}
	for field, values := range map[string][]string{
		"operations":  {operation, "*"},
		"resources":   {of.Resource + subresource, of.Resource + "/*", "*" + subresource, "*/*"},
		"apiGroups":   {of.Group, "*"},
		"apiVersions": {of.Version, "*"},
	} {
		for i := 0; ; i++ {
			at := fmt.Sprintf("%s.%s[%d]", rule, field, i)
			p := o.byPath[at]
			if p == nil {
				break
			}
			if slices.Contains(values, p.value) {
				p.count(reached, 1)
			}
		}
	}
}
