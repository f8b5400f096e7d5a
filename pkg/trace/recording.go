package trace

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// Recording is a request that is being recorded. Its methods do nothing for a nil Recording, so callers needn't ask
// whether a request is recorded, except before work that makes a value to record.
//
// A request may be answered while a part of it still runs. That part's further changes are dropped.
type Recording struct {
	recorder *Recorder
	received time.Time
	// evaluating says that the request is made to see what would happen: no webhook is called.
	evaluating bool
	// observing says that the request isn't kept.
	observing bool

	mu      sync.Mutex
	over    bool
	request *Request
	// bytes is the size of the JSON that the request keeps.
	bytes int64
}

// Update changes the request, unless it has ended. Every field of the request's tree changes in Update alone.
func (r *Recording) Update(change func(*Request)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		change(r.request)
	}
}

// Since returns the time from the receipt of the request until a moment.
func (r *Recording) Since(moment time.Time) Duration {
	if r == nil {
		return 0
	}
	return Duration(moment.Sub(r.received))
}

// Evaluating says that the request is made to see what would happen: webhooks must not be called.
func (r *Recording) Evaluating() bool { return r != nil && r.evaluating }

// Object returns the JSON of an object, as it may be kept: without the secrets in it, unless the recorder keeps these.
func (r *Recording) Object(kind Kind, object []byte) json.RawMessage {
	if r == nil || len(object) == 0 {
		return nil
	}
	if r.recorder.limits.Secrets {
		return r.keep(object)
	}
	return r.keep(redactObject(kind, object))
}

// Review returns an AdmissionReview that the server has made, as it may be kept; see Object. The kind is that of the
// review's object.
func (r *Recording) Review(kind Kind, review []byte) json.RawMessage {
	if r == nil {
		return nil
	}
	if r.recorder.limits.Secrets {
		return r.keep(review)
	}
	return r.keep(redactReview(kind, review))
}

// Response returns the AdmissionReview of a response, as Review does. It returns nil for anything that isn't JSON.
func (r *Recording) Response(kind Kind, review []byte) json.RawMessage {
	if !json.Valid(review) {
		return nil
	}
	return r.Review(kind, review)
}

// Patch returns a JSON patch of an object, as it may be kept; see Object.
func (r *Recording) Patch(kind Kind, patch []byte) json.RawMessage {
	if r == nil || !json.Valid(patch) {
		return nil
	}
	if r.recorder.limits.Secrets {
		return r.keep(patch)
	}
	return r.keep(redactPatch(kind, patch))
}

// keep returns JSON that the request keeps, or nil if that would exceed the memory for requests in flight, which is as
// large as the one for requests that have ended.
func (r *Recording) keep(content json.RawMessage) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := int64(len(content))
	switch {
	case r.over:
		return nil
	case r.recorder.inFlight.Add(size) > r.recorder.limits.Bytes:
		r.recorder.inFlight.Add(-size)
		r.request.Stripped = true
		return nil
	}
	r.bytes += size
	return content
}

// Hides says that values that are computed from objects of a kind must not be kept.
func (r *Recording) Hides(kind Kind) bool {
	return r != nil && !r.recorder.limits.Secrets && hasSecrets(kind)
}

// Finish ends the recording. It adds a request that reached admission, or met a fault, to the recorder's memory, and
// returns the request in any case.
func (r *Recording) Finish() *Request {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return r.request
	}
	r.over = true
	r.recorder.inFlight.Add(-r.bytes)
	r.request.Took = Duration(time.Since(r.received))
	if len(r.request.Admissions)+len(r.request.Faults) > 0 && !r.evaluating && !r.observing {
		r.recorder.add(r.request)
	}
	return r.request
}

// Scope is the part of a recording that a context belongs to.
type Scope struct {
	*Recording
	// Admission and Step are nil outside of the chain, and outside of a plugin.
	Admission *Admission
	Step      *Step
}

// AddStep adds a step to the admission of the scope, and returns the step. The step is dropped if the request has ended.
func (s *Scope) AddStep(step Step) *Step {
	var added *Step
	s.Update(func(*Request) { added = s.Admission.add(step) })
	if added == nil {
		return &Step{}
	}
	return added
}

type scopeKey struct{}

// Within returns a context of a scope.
func Within(ctx context.Context, scope *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// From returns the scope of a context, or nil for a request that isn't recorded.
func From(ctx context.Context) *Scope {
	scope, _ := ctx.Value(scopeKey{}).(*Scope)
	return scope
}
