package trace

import "encoding/json"

// requestBytes is the approximate memory of a request. partBytes is that of each part of a request, and briefBytes is
// that of a step of the type brief. The three numbers don't include JSON and texts: the method size adds their lengths.
const (
	requestBytes = 1 << 10
	partBytes    = 256
	briefBytes   = 40
)

// size returns the approximate memory of a request. Parts of a request share some of their JSON, so the true size
// is less.
func (r *Request) size() int64 {
	size := int64(requestBytes)
	r.each(func(raw *[]byte) { size += int64(len(*raw)) }, func(text int) { size += partBytes + int64(text) })
	for _, a := range r.Admissions {
		size += int64(cap(a.brief) * briefBytes)
	}
	return size
}

// strip drops all objects, reviews and patches of a request, and sets Stripped.
func (r *Request) strip() {
	r.Stripped = true
	r.each(func(raw *[]byte) { *raw = nil }, func(int) {})
}

// each calls raw for every object, review and patch of the request. It calls part for every part of the request, with
// the length of the part's texts. These texts don't include objects, reviews and patches.
func (r *Request) each(raw func(*[]byte), part func(text int)) {
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
	part(len(r.UserAgent) + len(r.Path) + r.User.text() + r.Error.text())
	for _, a := range r.Admissions {
		all(&a.Object, &a.OldObject, &a.Admitted, &a.Stored)
		encodings(&a.object, &a.oldObject, &a.admitted, &a.stored)
		for _, s := range a.Steps {
			all(&s.Before, &s.After)
			encodings(&s.before, &s.after)
			if s.Error != nil {
				part(s.Error.text())
			}
			for _, w := range s.Webhooks {
				part(w.Verdict.text())
				if w.Call != nil {
					part(w.Call.text())
					all(&w.Call.Request, &w.Call.Response, &w.Call.Patch, &w.Call.Before, &w.Call.After)
				}
			}
			for _, p := range s.Policies {
				part(p.Verdict.text())
				for _, b := range p.Bindings {
					part(b.Verdict.text())
					for _, e := range b.Evaluations {
						all(&e.Before, &e.After)
						if e.Param != nil {
							all(&e.Param.Object)
						}
						for _, x := range e.Expressions {
							part(len(x.Expression) + len(x.Value) + len(x.Error) + len(x.Message))
						}
					}
				}
			}
		}
	}
}

// text returns the length of the user's texts.
func (u User) text() int { return len(u.Name) + textsOf(u.Groups) }

func (v Verdict) text() int {
	return len(v.Field) + len(v.Want) + len(v.Got) + len(v.By) + len(v.Detail) + textsOf(v.Also)
}

func (c *Call) text() int {
	return c.Error.text() + len(c.URL) + len(c.Answer) + textsOf(c.Warnings)
}

func (e *Error) text() int {
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
