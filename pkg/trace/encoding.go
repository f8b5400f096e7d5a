package trace

import (
	"encoding/json"
	"slices"
)

// Encoding is an object in a form that is cheaper to make and to keep than JSON. Most recorded requests are never
// read, so the JSON is made only when a request is read. The zero value stands for no object.
type Encoding struct {
	Bytes []byte
	// JSON converts Bytes to JSON. If JSON is nil, Bytes are JSON already.
	JSON func([]byte) json.RawMessage
}

func (e Encoding) json() json.RawMessage {
	if e.JSON == nil || len(e.Bytes) == 0 {
		return e.Bytes
	}
	return e.JSON(e.Bytes)
}

// Keep returns an object for the record: secret values are replaced, unless Limits.Secrets is set. It returns the
// zero value if the limits don't leave room for the object, or if the recording has ended.
func (r *Recording) Keep(kind Kind, object Encoding) Encoding {
	switch {
	case r == nil || len(object.Bytes) == 0:
		return Encoding{}
	case r.Hides(kind) || r.hides():
		return Encoding{Bytes: r.Object(kind, object.json())}
	case r.keep(object.Bytes) == nil:
		return Encoding{}
	}
	return object
}

// SetObjects sets Object and OldObject. The values must come from Keep.
func (a *Admission) SetObjects(object, oldObject Encoding) { a.object, a.oldObject = object, oldObject }

// SetAdmitted sets Admitted. The value must come from Keep.
func (a *Admission) SetAdmitted(admitted Encoding) { a.admitted = admitted }

// SetChange sets Before and After. The values must come from Keep.
func (s *Step) SetChange(before, after Encoding) { s.before, s.after = before, after }

// whole returns a copy of the request for readers: with all steps, and all objects in JSON. The copy shares
// everything else with the request. The request must have ended.
func (r *Request) whole() *Request {
	whole := *r
	whole.Admissions = make([]*Admission, len(r.Admissions))
	for i, a := range r.Admissions {
		whole.Admissions[i] = a.whole()
	}
	return &whole
}

func (a *Admission) whole() *Admission {
	whole := *a
	whole.brief, whole.object, whole.oldObject, whole.admitted, whole.stored = nil, Encoding{}, Encoding{}, Encoding{}, Encoding{}
	for _, object := range []struct {
		field *json.RawMessage
		from  Encoding
	}{{&whole.Object, a.object}, {&whole.OldObject, a.oldObject}, {&whole.Admitted, a.admitted}, {&whole.Stored, a.stored}} {
		if len(object.from.Bytes) > 0 {
			*object.field = object.from.json()
		}
	}
	whole.Steps = make([]*Step, 0, len(a.Steps)+len(a.brief))
	brief := a.brief
	for i := range len(a.Steps) + 1 {
		for ; len(brief) > 0 && int(brief[0].before) <= i; brief = brief[1:] {
			whole.Steps = append(whole.Steps, brief[0].whole())
		}
		if i < len(a.Steps) {
			whole.Steps = append(whole.Steps, a.Steps[i].whole())
		}
	}
	whole.lose()
	return &whole
}

func (s *Step) whole() *Step {
	if len(s.after.Bytes) == 0 && len(s.Webhooks)+len(s.Policies) == 0 {
		return s
	}
	whole := *s
	whole.Webhooks, whole.Policies = slices.Clone(s.Webhooks), slices.Clone(s.Policies)
	whole.Before, whole.After = s.Change()
	whole.before, whole.after = Encoding{}, Encoding{}
	return &whole
}

// Change returns the object before and after a step that changed it, in JSON.
func (s *Step) Change() (before, after json.RawMessage) {
	if len(s.after.Bytes) == 0 {
		return s.Before, s.After
	}
	return s.before.json(), s.after.json()
}
