package recorder

import (
	"slices"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Pass is the record of one pass of an object through the admission chain, while the request is served. The embedded
// Admission is an element of Request.Admissions. The other fields hold what the record doesn't show, and what is
// converted only when the request is read.
type Pass struct {
	trace.Admission
	// mutated is the time at which the mutating steps ended. validating is true once the validating steps have
	// begun.
	mutated    trace.Duration
	validating bool
	// brief are the steps that aren't in Steps yet.
	brief []brief
	// object, oldObject, admitted and stored are the values of the exported fields in the form in which they were
	// recorded. changes are the values of Step.Before and Step.After in that form.
	object, oldObject, admitted, stored Encoding
	changes                             []change
	refusals                            []policyRefusal
}

// change is the object before and after a step whose plugin itself changed it.
type change struct {
	step          *trace.Step
	before, after Encoding
}

// policyRefusal names the policy, with its binding, that refused the request.
type policyRefusal struct {
	policy  *trace.Policy
	refused trace.Reference
}

// SetObjects sets Object and OldObject of a pass that isn't recorded yet. The values must come from Keep.
func (p *Pass) SetObjects(object, oldObject Encoding) { p.object, p.oldObject = object, oldObject }

// Enter adds a pass to the record of the request.
func (r *Recording) Enter(pass *Pass) {
	r.Update(func(request *trace.Request) { r.enter(request, pass) })
}

func (r *Recording) enter(request *trace.Request, pass *Pass) {
	if r.passes == nil {
		r.passes = r.first[:0]
	}
	r.passes, request.Admissions = append(r.passes, pass), append(request.Admissions, &pass.Admission)
}

// Mutated records that the mutating steps of the scope's pass have ended.
func (s *Scope) Mutated() {
	at := s.Since(time.Now())
	s.Update(func(*trace.Request) { s.Pass.mutated = at })
}

// Validates records that the validating steps of a pass begin, with the object that passed validation, which must come
// from Keep. It returns the recorded pass: the last pass of the same operation and object that no step has refused and
// whose validating steps haven't begun. If the request has no such pass, Validates adds the argument pass to the
// request. It returns nil if the recording has ended.
func (r *Recording) Validates(pass *Pass, at trace.Duration, admitted Encoding) (recorded *Pass) {
	r.Update(func(request *trace.Request) {
		recorded = r.mutated(pass)
		switch {
		case recorded == nil:
			recorded = pass
			r.enter(request, pass)
		case checked(&recorded.Admission):
			recorded.Validation = &trace.Validation{Start: recorded.mutated, Took: at - recorded.mutated}
		}
		recorded.validating, recorded.admitted = true, admitted
		recorded.Name = pass.Name // the server may have generated the name since
	})
	return recorded
}

// mutated returns the pass that the mutating steps of the argument's object have recorded, or nil.
func (r *Recording) mutated(pass *Pass) *Pass {
	for _, p := range slices.Backward(r.passes) {
		if !p.validating && p.Refused == nil && p.Operation == pass.Operation && p.Namespace == pass.Namespace && (p.Name == pass.Name || p.Name == "") {
			return p
		}
	}
	return nil
}

// checked reports whether the kind's validation checks the object of a pass.
func checked(a *trace.Admission) bool { return a.Operation == "CREATE" || a.Operation == "UPDATE" }

// Admitted reports whether the last pass went through all steps and no step refused.
func (r *Recording) Admitted() (admitted bool) {
	r.Update(func(*trace.Request) {
		if len(r.passes) > 0 {
			last := r.passes[len(r.passes)-1]
			admitted = last.validating && last.Refused == nil
		}
	})
	return admitted
}

// SetChange records the object before and after a step whose plugin itself changed it. The values must come from Keep.
func (s *Scope) SetChange(step *trace.Step, before, after Encoding) {
	s.Update(func(*trace.Request) { s.Pass.changes = append(s.Pass.changes, change{step, before, after}) })
}

// Change returns the object before and after a step whose plugin itself changed it, in JSON.
func (p *Pass) Change(step *trace.Step) (before, after []byte) {
	if i := slices.IndexFunc(p.changes, func(c change) bool { return c.step == step }); i >= 0 {
		return p.changes[i].before.json(), p.changes[i].after.json()
	}
	return nil, nil
}

// Object is a version of the object of a pass, with the part of the admission chain that made it.
type Object struct {
	// By names the part of the admission chain that made this version of the object: a policy, a webhook or a plugin. It
	// is empty for the object as the request sent it.
	By      string
	Content []byte
}

// Objects returns the versions that the object has had so far in the scope's pass, in the order in which they were made:
// the object of the request, and then the result of each change.
func (s *Scope) Objects() (objects []Object) {
	s.Update(func(*trace.Request) { objects = s.Pass.objects() })
	return objects
}

func (p *Pass) objects() []Object {
	objects := []Object{{Content: p.object.json()}}
	add := func(by string, content []byte) {
		if len(content) > 0 {
			objects = append(objects, Object{by, content})
		}
	}
	for _, step := range p.Steps {
		for _, policy := range step.Policies {
			for _, b := range policy.Bindings {
				for _, e := range b.Evaluations {
					add(policy.Reference.String(), e.After)
				}
			}
		}
		for _, w := range step.Webhooks {
			if w.Call != nil {
				add("webhook "+w.Reference.String(), w.Call.After)
			}
		}
		_, after := p.Change(step)
		add("admission plugin "+step.Plugin, after)
	}
	return objects
}

// Matched reports whether a webhook has matched in one of the steps that the pass has so far. A webhook that matched
// has been called, unless the request is a dry run.
func (p *Pass) Matched(webhook trace.Reference) bool {
	for _, step := range p.Steps {
		for _, w := range step.Webhooks {
			if w.Reference == webhook && (w.Verdict.Reason == trace.Matched || w.Verdict.Reason == trace.DryRunSideEffects) {
				return true
			}
		}
	}
	return false
}
