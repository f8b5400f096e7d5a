package trace

import "encoding/json"

// Mutated records that the mutating steps of a pass have ended.
func (a *Admission) Mutated(at Duration) { a.mutated = at }

// Validates records that validating steps begin with the object of a pass, and returns the pass: the one whose mutating
// steps had the object, or else the given one, which is added.
func (r *Request) Validates(pass *Admission, at Duration) *Admission {
	for i := len(r.Admissions) - 1; i >= 0; i-- {
		a := r.Admissions[i]
		if !a.validating && a.Refused == nil && a.Operation == pass.Operation && a.Namespace == pass.Namespace && (a.Name == pass.Name || a.Name == "") {
			a.validating, a.Name = true, pass.Name // the server has made a generated name meanwhile
			if a.checked() {
				a.Validation = &Validation{Start: a.mutated, Took: at - a.mutated}
			}
			return a
		}
	}
	pass.validating = true
	r.Admissions = append(r.Admissions, pass)
	return pass
}

// checked says that the kind's rules check the object of the pass.
func (a *Admission) checked() bool { return a.Operation == "CREATE" || a.Operation == "UPDATE" }

// Refuse records that a step has refused the object.
func (a *Admission) Refuse(step *Step) {
	a.Refused = &Refusal{Plugin: step.Plugin, Phase: step.Phase, Round: step.Round, Error: *step.Error}
	for _, w := range step.Webhooks {
		if w.refused() {
			a.Refused.Webhook = &w.Reference
			return
		}
	}
	for _, p := range step.Policies {
		if p.refused != nil {
			a.Refused.Policy = p.refused
			return
		}
	}
}

// refused says that the webhook refused the request, or the request was refused because the webhook couldn't be called.
func (w *Webhook) refused() bool {
	if w.Call != nil {
		return w.Call.Error != nil && w.Call.Outcome != FailedOpen
	}
	switch w.Verdict.Reason {
	case MatchConditionRefused, MatchFailed:
		return true
	case DryRunSideEffects:
		return w.Verdict.Detail != ""
	}
	return false
}

// Admitted says that the last pass went through all steps, and none refused.
func (r *Request) Admitted() bool {
	if len(r.Admissions) == 0 {
		return false
	}
	last := r.Admissions[len(r.Admissions)-1]
	return last.validating && last.Refused == nil
}

// Answered records the response: its code, and its error or nil.
func (r *Request) Answered(code int, err *Error) {
	r.Code, r.Error = code, err
	if r.Name == "" && r.Verb != "deletecollection" && len(r.Admissions) > 0 {
		r.Name = r.Admissions[0].Name // of a new object, which the path doesn't name
	}
	if err == nil || len(r.Admissions) == 0 {
		return
	}
	// A pass that no step has refused, and whose validating steps haven't begun, ended with the check of the object.
	last := r.Admissions[len(r.Admissions)-1]
	if last.Refused == nil && !last.validating && err.Reason == reasonInvalid {
		last.Validation = &Validation{Start: last.mutated, Error: err}
	}
}

// reasonInvalid is the reason of a Status for an invalid object.
const reasonInvalid = "Invalid"

// ErrorOf returns an error as it is recorded. status finds the code and the reason of an error.
func ErrorOf(err error, status func(error) (code int, reason string)) *Error {
	if err == nil {
		return nil
	}
	code, reason := status(err)
	return &Error{Code: code, Reason: reason, Message: err.Error()}
}

// Labels returns the labels of an object in JSON.
func Labels(object json.RawMessage) map[string]string {
	var decoded struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(object, &decoded) // an object that can't be decoded has no labels
	return decoded.Metadata.Labels
}

// Object is an object in a pass, with the part of the chain that made it.
type Object struct {
	// By is empty for the object of the request.
	By      string
	Content json.RawMessage
}

// Objects returns the objects of a pass in the order in which they were made: that of the request, and each change.
func (a *Admission) Objects() []Object {
	objects := []Object{{Content: a.Object}}
	add := func(by string, content json.RawMessage) {
		if len(content) > 0 {
			objects = append(objects, Object{by, content})
		}
	}
	for _, step := range a.Steps {
		for _, p := range step.Policies {
			for _, b := range p.Bindings {
				for _, e := range b.Evaluations {
					add(p.Reference.String(), e.After)
				}
			}
		}
		for _, w := range step.Webhooks {
			if w.Call != nil {
				add("webhook "+w.Reference.String(), w.Call.After)
			}
		}
		add("admission plugin "+step.Plugin, step.After)
	}
	return objects
}

// Called says that a webhook was called in the pass.
func (a *Admission) Called(webhook Reference) bool {
	for _, step := range a.Steps {
		for _, w := range step.Webhooks {
			if w.Reference == webhook && w.Call != nil {
				return true
			}
		}
	}
	return false
}
