package recorder

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Recording is a request that is being recorded. Except for Finished, its exported methods do nothing for a nil
// Recording, so callers call them without a check. A caller checks for nil only to avoid computing a value that nothing
// would record.
//
// A goroutine may still work on a request when Finish ends the recording. Later updates by the goroutine are dropped.
type Recording struct {
	recorder *Recorder
	received time.Time
	// evaluating is true for a dry run of Recorder.Evaluate: no webhook is called.
	evaluating bool
	// observing is true for a request of Recorder.Observe, which the recorder doesn't keep.
	observing bool

	mu      sync.Mutex
	over    bool
	request *trace.Request
	// passes are the passes of the request. Their embedded Admissions are the elements of Request.Admissions.
	passes []*Pass
	// first is the array of passes with one element. Most requests have one pass.
	first [1]*Pass
	// bytes is the part of Recorder.inFlight that comes from this recording.
	bytes     int64
	redaction redaction
}

// Update changes the request under the lock, unless the recording has ended.
func (r *Recording) Update(change func(*trace.Request)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		change(r.request)
	}
}

// Injected records a fault that was injected into the request itself. The argument name is the name of the object. The
// record gets it only if the request has no name yet: the path of a create request doesn't name the object.
func (r *Recording) Injected(fault trace.Fault, name string) {
	r.Update(func(request *trace.Request) {
		request.Faults = append(request.Faults, fault)
		if request.Name == "" {
			request.Name = name
		}
	})
}

// Since returns the time from the receipt of the request to a moment.
func (r *Recording) Since(moment time.Time) trace.Duration {
	if r == nil {
		return 0
	}
	return trace.Duration(moment.Sub(r.received))
}

// Evaluating reports whether this is a dry run of Recorder.Evaluate: webhooks must not be called.
func (r *Recording) Evaluating() bool { return r != nil && r.evaluating }

// Object returns the JSON of an object, for the record: secret values are replaced, unless Limits.Secrets is set. It
// returns nil if the limits don't leave room for the object, or if the recording has ended.
func (r *Recording) Object(kind trace.Kind, object []byte) json.RawMessage {
	return r.redacted((*redaction).object, kind, object)
}

// Review returns the AdmissionReview for a webhook in JSON, for the record: secret values are replaced, as in Object.
// kind is the kind of the object in the review.
func (r *Recording) Review(kind trace.Kind, review []byte) json.RawMessage {
	return r.redacted((*redaction).review, kind, review)
}

// Response returns the JSON with which a webhook answered, for the record: secret values are replaced, as in Review.
func (r *Recording) Response(kind trace.Kind, review []byte) json.RawMessage {
	return r.redacted((*redaction).response, kind, review)
}

// Patch returns a JSON patch, for the record: secret values are replaced, as in Object. kind is the kind of the
// patched object.
func (r *Recording) Patch(kind trace.Kind, patch []byte) json.RawMessage {
	return r.redacted((*redaction).patch, kind, patch)
}

// redacted returns content that may be recorded. Unless Limits.Secrets is set, the function redact replaces the secret
// values first.
func (r *Recording) redacted(redact func(*redaction, trace.Kind, []byte) json.RawMessage, kind trace.Kind, content []byte) json.RawMessage {
	if r == nil || len(content) == 0 {
		return nil
	}
	if !r.recorder.limits.Secrets {
		r.mu.Lock()
		content = redact(&r.redaction, kind, content)
		r.mu.Unlock()
	}
	return r.keep(content)
}

// keep adds the size of the content to the bytes of requests in flight, and returns the content. If these bytes would
// exceed Limits.Bytes, or if the recording has ended, keep returns nil.
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

// Hides reports whether values computed from an object of the kind must not be recorded, because they may show a
// secret.
func (r *Recording) Hides(kind trace.Kind) bool {
	return r != nil && !r.recorder.limits.Secrets && hasSecrets(kind)
}

// Branches reports whether the conditions within expressions are recorded.
func (r *Recording) Branches() bool { return r != nil && r.recorder.limits.Branches }

// hides reports whether the request has had an object of a kind with secrets, and secrets must not be recorded.
func (r *Recording) hides() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.redaction.met && !r.recorder.limits.Secrets
}
