package recorder

import (
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Refuse records that a policy refused the request. A nil binding means that the policy itself failed, before any of its
// bindings was evaluated. Only the first refusal of a policy is kept. Refuse must be called in the function that Update
// runs.
func (p *Pass) Refuse(policy *trace.Policy, binding *trace.Binding) {
	refused := policy.Reference
	if binding != nil {
		refused.Part = binding.Name
	}
	if p.refusal(policy) == nil {
		p.refusals = append(p.refusals, policyRefusal{policy, refused})
	}
}

// refusal returns the refusal by a policy, or nil.
func (p *Pass) refusal(policy *trace.Policy) *trace.Reference {
	if i := slices.IndexFunc(p.refusals, func(r policyRefusal) bool { return r.policy == policy }); i >= 0 {
		return &p.refusals[i].refused
	}
	return nil
}

// refused records that a step has refused the request, with the webhook or policy that made the step refuse.
func (p *Pass) refused(step *trace.Step) {
	p.Refused = &trace.Refusal{Plugin: step.Plugin, Phase: step.Phase, Round: step.Round, Error: *step.Error}
	for _, w := range step.Webhooks {
		if refusedBy(w) {
			p.Refused.Webhook, p.Refused.Fields = &w.Reference, named(w.Verdict.Field)
			return
		}
	}
	for _, policy := range step.Policies {
		if refusal := p.refusal(policy); refusal != nil {
			p.Refused.Policy, p.Refused.Fields = refusal, named(policy.Verdict.Field, policy.Decided(refusal.Part).Field)
			return
		}
	}
}

// named returns the fields without the empty ones.
func named(fields ...string) []string {
	return slices.DeleteFunc(fields, func(field string) bool { return field == "" })
}

// refusedBy reports whether a step refused the request because of the webhook: the webhook denied the request, its call
// failed, or its verdict refuses.
func refusedBy(w *trace.Webhook) bool {
	if w.Call != nil {
		return w.Call.Error != nil && w.Call.Outcome != trace.FailedOpen
	}
	return w.Verdict.Refuses()
}

// Answered records the response: its code, and its error or nil.
func (r *Recording) Answered(code int, err *trace.Error) {
	r.Update(func(request *trace.Request) {
		request.Code, request.Error = code, err
		if len(r.passes) == 0 {
			return
		}
		if request.Name == "" && request.Verb != "deletecollection" {
			request.Name = r.passes[0].Name // the path of a create request doesn't name the object
		}
		// If the kind's validation finds the object invalid, the pass ends between the mutating and the validating steps.
		last := r.passes[len(r.passes)-1]
		if err != nil && last.Refused == nil && !last.validating && err.Reason == reasonInvalid {
			last.Validation = &trace.Validation{Start: last.mutated, Error: err}
		}
	})
}

// Forbid records that authorization refused the request with an error.
func (r *Recording) Forbid(err *trace.Error) {
	r.Update(func(request *trace.Request) { request.Forbidden = true })
	r.Answered(err.Code, err)
}

// reasonInvalid is the reason of a Status for an invalid object.
const reasonInvalid = "Invalid"

// ErrorOf returns the record of an error. status returns the HTTP code and the reason of an error.
func ErrorOf(err error, status func(error) (code int, reason string)) *trace.Error {
	if err == nil {
		return nil
	}
	code, reason := status(err)
	return &trace.Error{Code: code, Reason: reason, Message: err.Error()}
}
