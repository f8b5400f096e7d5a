package trace

import "encoding/json"

// Mutated records the moment at which the mutating steps of a pass ended.
func (a *Admission) Mutated(at Duration) { a.mutated = at }

// Validates records that the validating steps of a pass begin, and returns the recorded pass. This is the last pass of
// the same operation and object that no step has refused and whose validating steps haven't begun. If the request has
// no such pass, Validates adds the argument pass to the request.
func (r *Request) Validates(pass *Admission, at Duration) *Admission {
	for i := len(r.Admissions) - 1; i >= 0; i-- {
		a := r.Admissions[i]
		if !a.validating && a.Refused == nil && a.Operation == pass.Operation && a.Namespace == pass.Namespace && (a.Name == pass.Name || a.Name == "") {
			a.validating, a.Name = true, pass.Name // the server may have generated the name since
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

// checked reports whether the kind's validation checks the object of the pass.
func (a *Admission) checked() bool { return a.Operation == "CREATE" || a.Operation == "UPDATE" }

// Admitted reports whether the last pass went through all steps and no step refused.
func (r *Request) Admitted() bool {
	if len(r.Admissions) == 0 {
		return false
	}
	last := r.Admissions[len(r.Admissions)-1]
	return last.validating && last.Refused == nil
}

// Labels returns the labels of an object that is given in JSON.
func Labels(object json.RawMessage) map[string]string {
	var decoded struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(object, &decoded) // an object that can't be decoded has no labels
	return decoded.Metadata.Labels
}

// Object is a version of the object of a pass, with the part of the admission chain that made it.
type Object struct {
	// By names the part of the admission chain that made this version of the object: a policy, a webhook or a plugin. It
	// is empty for the object as the request sent it.
	By      string
	Content json.RawMessage
}

// Objects returns the versions of the object of a pass, in the order in which they were made: the object of the
// request, and then the result of each change.
func (a *Admission) Objects() []Object {
	asked := a.Object
	if len(a.object.Bytes) > 0 {
		asked = a.object.json()
	}
	objects := []Object{{Content: asked}}
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
		_, after := step.Change()
		add("admission plugin "+step.Plugin, after)
	}
	return objects
}

// Matched reports whether a webhook has matched in one of the steps that the pass has so far. A webhook that matched
// has been called, unless the request is a dry run.
func (a *Admission) Matched(webhook Reference) bool {
	for _, step := range a.Steps {
		for _, w := range step.Webhooks {
			if w.Reference == webhook && (w.Verdict.Reason == Matched || w.Verdict.Reason == DryRunSideEffects) {
				return true
			}
		}
	}
	return false
}
