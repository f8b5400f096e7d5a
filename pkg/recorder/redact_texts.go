package recorder

import "github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"

// A message about an object with secrets may quote a part of a secret, or a secret in another form. So all messages of
// a request with such an object are replaced, and all values of expressions except true and false. Codes, fields and
// names stay. The reason of an error stays unless it contains a known secret value.

// texts replaces each message of a request by Redacted.
func (r *redaction) texts(request *trace.Request) {
	r.err(request.Error)
	for _, a := range request.Admissions {
		if a.Validation != nil {
			r.err(a.Validation.Error)
		}
		if a.Refused != nil {
			r.err(&a.Refused.Error)
		}
		for _, s := range a.Steps {
			r.step(s)
		}
	}
}

// step replaces each message of a step by Redacted.
func (r *redaction) step(s *trace.Step) {
	r.err(s.Error)
	for _, w := range s.Webhooks {
		r.verdict(&w.Verdict)
		if w.Call != nil {
			r.err(w.Call.Error)
			w.Call.Answer = replaced(w.Call.Answer)
			for i := range w.Call.Warnings {
				w.Call.Warnings[i] = trace.Redacted
			}
		}
	}
	for _, p := range s.Policies {
		r.verdict(&p.Verdict)
		for _, b := range p.Bindings {
			r.verdict(&b.Verdict)
			for _, e := range b.Evaluations {
				r.evaluation(e)
			}
		}
	}
}

func (r *redaction) evaluation(e *trace.Evaluation) {
	r.verdict(&e.Verdict)
	e.Error = replaced(e.Error)
	for _, x := range e.Expressions {
		x.Error, x.Message = replaced(x.Error), replaced(x.Message)
		if x.Value != "true" && x.Value != "false" {
			x.Value = replaced(x.Value)
		}
		for i := range x.Parts {
			part := &x.Parts[i]
			if part.Error = replaced(part.Error); part.Value != "true" && part.Value != "false" {
				part.Value = replaced(part.Value)
			}
		}
	}
}

func (r *redaction) verdict(v *trace.Verdict) {
	v.Detail, v.Got = replaced(v.Detail), r.text(v.Got)
}

func (r *redaction) err(e *trace.Error) {
	if e != nil {
		e.Message, e.Reason = replaced(e.Message), r.text(e.Reason)
	}
}
