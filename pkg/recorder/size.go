package recorder

import (
	"encoding/json"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// requestBytes is the approximate memory of a request. partBytes is that of each part of a request, and briefBytes is
// that of a step of the type brief. The three numbers don't include JSON and texts: the function size adds their lengths.
const (
	requestBytes = 1 << 10
	partBytes    = 256
	briefBytes   = 40
)

// size returns the approximate memory of a request. Parts of a request share some of their JSON, so the true size
// is less.
func size(r *trace.Request, passes []*Pass) int64 {
	size := int64(requestBytes)
	each(r, passes, func(raw *[]byte) { size += int64(len(*raw)) }, func(text int) { size += partBytes + int64(text) })
	for _, p := range passes {
		size += int64(cap(p.brief) * briefBytes)
	}
	return size
}

// strip drops all objects, reviews and patches of a request, and sets Stripped.
func strip(r *trace.Request, passes []*Pass) {
	r.Stripped = true
	each(r, passes, func(raw *[]byte) { *raw = nil }, func(int) {})
}

// each calls raw for every object, review and patch of the request. It calls part for every part of the request, with
// the length of the part's texts. These texts don't include objects, reviews and patches.
func each(r *trace.Request, passes []*Pass, raw func(*[]byte), part func(text int)) {
	all := func(messages ...*json.RawMessage) {
		part(0)
		for _, message := range messages {
			raw((*[]byte)(message))
		}
	}
	encodings := func(encodings ...*Encoding) {
		for _, encoding := range encodings {
			raw(&encoding.Bytes)
		}
	}
	part(len(r.UserAgent) + len(r.Path) + len(r.User.Name) + textsOf(r.User.Groups) + errorText(r.Error))
	for _, a := range passes {
		all(&a.Object, &a.OldObject, &a.Admitted, &a.Stored)
		encodings(&a.object, &a.oldObject, &a.admitted, &a.stored)
		for i := range a.changes {
			encodings(&a.changes[i].before, &a.changes[i].after)
		}
		for _, s := range a.Steps {
			part(errorText(s.Error))
			for _, w := range s.Webhooks {
				part(verdictText(&w.Verdict))
				if w.Call != nil {
					part(errorText(w.Call.Error) + len(w.Call.URL) + len(w.Call.Answer) + textsOf(w.Call.Warnings))
					all(&w.Call.Request, &w.Call.Response, &w.Call.Patch, &w.Call.Before, &w.Call.After)
				}
			}
			for _, p := range s.Policies {
				part(verdictText(&p.Verdict))
				for _, b := range p.Bindings {
					part(verdictText(&b.Verdict))
					for _, e := range b.Evaluations {
						all(&e.Before, &e.After)
						if e.Param != nil {
							all(&e.Param.Object)
						}
						for _, x := range e.Expressions {
							part(len(x.Expression) + len(x.Value) + len(x.Error) + len(x.Message))
							for _, inner := range x.Parts {
								part(len(inner.Expression) + len(inner.Value) + len(inner.Error))
							}
						}
					}
				}
			}
		}
	}
}

func verdictText(v *trace.Verdict) int {
	return len(v.Field) + len(v.Want) + len(v.Got) + len(v.By) + len(v.Detail) + textsOf(v.Also)
}

func errorText(e *trace.Error) int {
	if e == nil {
		return 0
	}
	return len(e.Message)
}

func textsOf(texts []string) int {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	return length
}
