package trace

import "slices"

// Refuse records that a step has refused the request, with the webhook or policy that made the step refuse.
func (a *Admission) Refuse(step *Step) {
	a.Refused = &Refusal{Plugin: step.Plugin, Phase: step.Phase, Round: step.Round, Error: *step.Error}
	for _, w := range step.Webhooks {
		if w.refused() {
			a.Refused.Webhook, a.Refused.Fields = &w.Reference, named(w.Verdict.Field)
			return
		}
	}
	for _, p := range step.Policies {
		if p.refused != nil {
			a.Refused.Policy, a.Refused.Fields = p.refused, named(p.Verdict.Field, p.refusing())
			return
		}
	}
}

// named returns the fields without the empty ones.
func named(fields ...string) []string {
	return slices.DeleteFunc(fields, func(field string) bool { return field == "" })
}

// refused reports whether the step refused the request because of the webhook: the webhook denied the request, its call
// failed, or its verdict refuses.
func (w *Webhook) refused() bool {
	if w.Call != nil {
		return w.Call.Error != nil && w.Call.Outcome != FailedOpen
	}
	return w.Verdict.Refuses()
}

// Answered records the response: its code, and its error or nil.
func (r *Request) Answered(code int, err *Error) {
	r.Code, r.Error = code, err
	if r.Name == "" && r.Verb != "deletecollection" && len(r.Admissions) > 0 {
		r.Name = r.Admissions[0].Name // the path of a create request doesn't name the object
	}
	if err == nil || len(r.Admissions) == 0 {
		return
	}
	// If the kind's validation finds the object invalid, the pass ends between the mutating and the validating steps.
	last := r.Admissions[len(r.Admissions)-1]
	if last.Refused == nil && !last.validating && err.Reason == reasonInvalid {
		last.Validation = &Validation{Start: last.mutated, Error: err}
	}
}

// Forbid records that authorization refused the request with an error.
func (r *Request) Forbid(err *Error) {
	r.Forbidden = true
	r.Answered(err.Code, err)
}

// reasonInvalid is the reason of a Status for an invalid object.
const reasonInvalid = "Invalid"

// ErrorOf returns the record of an error. status returns the HTTP code and the reason of an error.
func ErrorOf(err error, status func(error) (code int, reason string)) *Error {
	if err == nil {
		return nil
	}
	code, reason := status(err)
	return &Error{Code: code, Reason: reason, Message: err.Error()}
}

// Refusal says which step refused a request.
type Refusal struct {
	Plugin string `json:"plugin"`
	Phase  string `json:"phase"`
	Round  int    `json:"round"`
	// Webhook or Policy names the webhook or policy that refused the request. Both are nil if the plugin itself refused
	// the request.
	Webhook *Reference `json:"webhook,omitempty"`
	Policy  *Reference `json:"policy,omitempty"`
	// Fields are the fields of the webhook or policy that decided: the rule that matched the request, and the expression
	// of a policy that refused it.
	Fields []string `json:"fields,omitempty"`
	Error  Error    `json:"error"`
}
