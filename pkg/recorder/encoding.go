package recorder

import (
	"encoding/json"
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
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
func (r *Recording) Keep(kind trace.Kind, object Encoding) Encoding {
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

// whole returns a copy of a request for readers: with all steps, and all objects in JSON. The copy shares everything
// else with the request. The request must have ended.
func whole(request *trace.Request, passes []*Pass) *trace.Request {
	whole := *request
	whole.Admissions = make([]*trace.Admission, len(passes))
	for i, p := range passes {
		whole.Admissions[i] = p.whole()
	}
	return &whole
}

func (p *Pass) whole() *trace.Admission {
	whole := p.Admission
	for _, object := range []struct {
		field *json.RawMessage
		from  Encoding
	}{{&whole.Object, p.object}, {&whole.OldObject, p.oldObject}, {&whole.Admitted, p.admitted}, {&whole.Stored, p.stored}} {
		if len(object.from.Bytes) > 0 {
			*object.field = object.from.json()
		}
	}
	whole.Steps = make([]*trace.Step, 0, len(p.Steps)+len(p.brief))
	brief := p.brief
	for i := range len(p.Steps) + 1 {
		for ; len(brief) > 0 && int(brief[0].before) <= i; brief = brief[1:] {
			whole.Steps = append(whole.Steps, brief[0].whole())
		}
		if i < len(p.Steps) {
			whole.Steps = append(whole.Steps, p.step(p.Steps[i]))
		}
	}
	lose(&whole)
	return &whole
}

// step returns a step with the object before and after it, in JSON.
func (p *Pass) step(s *trace.Step) *trace.Step {
	whole := *s
	whole.Webhooks, whole.Policies = slices.Clone(s.Webhooks), slices.Clone(s.Policies)
	whole.Before, whole.After = p.Change(s)
	return &whole
}
