package mutation

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/coverage"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/runner"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Reach knows which cases reach which objects and expressions. Several goroutines may use it.
type Reach struct {
	mu    sync.Mutex
	tests map[testOf]*reached
}

// testOf names a test of a file.
type testOf struct{ path, title string }

// reached is what the cases of a test reach.
type reached struct {
	installed []manifests.Object
	// by has the visits of cases by their names. Its keys are KIND/NAME of an object that may match the requests, and KIND/NAME
	// with the path of the field of an expression that was evaluated for them.
	by map[string]map[string]*visit
	// denied are the names of the cases whose requests were refused.
	denied map[string]bool
}

// visit is what the request of a case did at an object or an expression.
type visit struct {
	// idle is true if the object matched the request and had no effect on it: no mutation that makes the object match fewer
	// or other requests changes the response.
	idle bool
	// inputs are the evaluations of the expression.
	inputs []*input
}

// Add adds what the request of a case reached. The request may be nil.
func (r *Reach) Add(result *runner.Result, installed []manifests.Object, request *trace.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := testOf{result.Path, result.File}
	if r.tests == nil {
		r.tests = map[testOf]*reached{}
	}
	if r.tests[key] == nil {
		r.tests[key] = &reached{installed: installed, by: map[string]map[string]*visit{}, denied: map[string]bool{}}
	}
	if request != nil {
		r.tests[key].add(result.Name, request)
	}
}

// add adds the visits of a case.
func (r *reached) add(name string, request *trace.Request) {
	r.denied[name] = request.Error != nil
	if request.Group != "" {
		r.visit(name, "CustomResourceDefinition/"+request.Resource.Resource+"."+request.Group, false)
	}
	for _, pass := range request.Admissions {
		of := newVariables(request, pass)
		for _, step := range pass.Steps {
			for _, w := range step.Webhooks {
				if !elsewhere[w.Verdict.Reason] {
					r.visit(name, w.Kind+"/"+w.Name, w.Call != nil && idleCall(w.Call))
				}
			}
			for _, p := range step.Policies {
				r.policy(name, p, of)
			}
		}
	}
}

// policy adds the visits of a case at a policy and its bindings.
func (r *reached) policy(name string, p *trace.Policy, of *variables) {
	if !elsewhere[p.Verdict.Reason] && (p.Verdict.Reason != trace.Matched || slices.ContainsFunc(p.Bindings, applies)) {
		r.visit(name, p.Kind+"/"+p.Name, !slices.ContainsFunc(p.Bindings, func(b *trace.Binding) bool { return !idle(b) }) && p.Verdict.Reason == trace.Matched)
	}
	for _, b := range p.Bindings {
		if applies(b) {
			r.visit(name, p.Kind+"Binding/"+b.Name, idle(b))
		}
		for _, e := range b.Evaluations {
			for _, x := range e.Expressions {
				at := r.visit(name, p.Kind+"/"+p.Name+" "+coverage.FieldOf(x.Field), false)
				at.inputs = append(at.inputs, &input{of, p.Verdict.As != nil, e.Param, x.Value})
			}
		}
	}
}

// visit returns the visit of a case at a part. The visit is idle if all visits of the case at the part are.
func (r *reached) visit(name, part string, idle bool) *visit {
	if r.by[part] == nil {
		r.by[part] = map[string]*visit{}
	}
	v := r.by[part][name]
	if v == nil {
		v = &visit{idle: true}
		r.by[part][name] = v
	}
	v.idle = v.idle && idle
	return v
}

// elsewhere are the reasons of verdicts about requests for other resources than those of a policy with one rule. No mutation
// makes the rule match them.
var elsewhere = map[trace.Reason]bool{
	trace.RuleGroup: true, trace.RuleVersion: true, trace.RuleResource: true, trace.RuleSubresource: true, trace.RuleScope: true, trace.RuleName: true,
}

// applies reports whether a binding applies to a request, or may apply to it after a mutation of a rule or a selector: no match
// condition has ruled the policy out.
func applies(b *trace.Binding) bool {
	return len(b.Evaluations) == 0 || slices.ContainsFunc(b.Evaluations, func(e *trace.Evaluation) bool { return e.Verdict.Reason != trace.MatchConditionFalse })
}

// idle reports whether a binding applied to a request without an effect on it.
func idle(b *trace.Binding) bool {
	return len(b.Evaluations) > 0 && !slices.ContainsFunc(b.Evaluations, func(e *trace.Evaluation) bool {
		annotates := slices.ContainsFunc(e.Expressions, func(x *trace.Expression) bool { return strings.HasPrefix(x.Field, "spec.auditAnnotations") })
		return e.Verdict.Reason != trace.MatchConditionFalse && (e.Outcome != trace.Allowed || len(e.After) > 0 || annotates)
	})
}

// idleCall reports whether a webhook let a request pass without an effect on it.
func idleCall(c *trace.Call) bool {
	return c.Outcome == trace.Allowed && len(c.Patch) == 0 && len(c.Warnings) == 0 && !bytes.Contains(c.Response, []byte(`"auditAnnotations"`))
}

// reaches reports whether a case evaluates the mutated part, or may match the mutated object.
func (r *reached) reaches(m *Mutation, name string) bool {
	if m.expression != "" {
		return r.by[m.Object+" "+m.expression][name] != nil
	}
	return m.anywhere || r.by[m.Object][name] != nil
}

// mayNotice reports whether a case that reaches a mutation may notice it.
func (r *reached) mayNotice(m *Mutation, name string) bool {
	if m.expression != "" {
		return slices.ContainsFunc(r.by[m.Object+" "+m.expression][name].inputs, m.changes)
	}
	v := r.by[m.Object][name]
	return v == nil || !v.idle || m.converts
}
