package recorder

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Limits bound the memory of a Recorder.
type Limits struct {
	// Requests is the largest number of requests that are kept. With 0, requests are recorded only while a caller of
	// Follow receives them.
	Requests int
	// Bytes bounds, approximately, the size of the kept requests. Above this size, the recorder drops the oldest
	// requests. The same bound applies to the size of all requests that haven't ended. Above it, the recorder
	// doesn't record the objects and reviews of these requests.
	Bytes int64
	// Secrets keeps secret values, such as the data of Secrets. By default they are replaced by a placeholder.
	Secrets bool
	// Branches records the conditions within the expressions of policies (trace.Expression.Branches).
	Branches bool
}

// DefaultBytes is the default of Limits.Bytes.
const DefaultBytes = 32 << 20

// Recorder keeps the last requests. It is safe for concurrent use.
type Recorder struct {
	limits Limits
	// on says whether requests are recorded.
	on atomic.Bool
	// inFlight is the size of the objects, reviews and patches that the recordings of all requests in progress keep.
	inFlight atomic.Int64

	mu        sync.Mutex
	last      int64 // the id of the last kept request
	requests  []kept
	bytes     int64
	followers int
	// published is the value of last that callers of Follow wait for.
	published condition.Variable[int64]
}

type kept struct {
	request *trace.Request
	passes  []*Pass
	bytes   int64
}

// New returns a recorder with limits. If Limits.Bytes is 0, the limit is DefaultBytes.
func New(limits Limits) *Recorder {
	if limits.Bytes == 0 {
		limits.Bytes = DefaultBytes
	}
	r := &Recorder{limits: limits}
	r.on.Store(limits.Requests > 0)
	return r
}

// On reports whether requests are being recorded. The call is cheap enough for every request. A nil recorder
// records nothing.
func (r *Recorder) On() bool { return r != nil && r.on.Load() }

// Keeps reports whether requests are recorded even while no caller follows them.
func (r *Recorder) Keeps() bool { return r != nil && r.limits.Requests > 0 }

// Begin starts to record a request that was received at Request.Received. It returns nil if the recorder is off.
func (r *Recorder) Begin(request trace.Request) *Recording {
	if !r.On() {
		return nil
	}
	return &Recording{recorder: r, received: request.Received, request: &request}
}

// Evaluate starts to record a dry run, which a user makes to see what admission would do. The recorder doesn't keep
// the request, and no webhook is called.
func (r *Recorder) Evaluate(request trace.Request) *Recording {
	request.Received = time.Now()
	return &Recording{recorder: r, received: request.Received, request: &request, evaluating: true}
}

// Observe starts to record a request for an OpenTelemetry trace. The recorder doesn't keep the request.
func (r *Recorder) Observe(request trace.Request) *Recording {
	return &Recording{recorder: r, received: request.Received, request: &request, observing: true}
}

// add keeps a request, and drops the oldest requests beyond the limits. If Limits.Requests is 0 and no caller of Follow
// is left, add drops the request itself.
func (r *Recorder) add(request *trace.Request, passes []*Pass) {
	bytes := size(request, passes)
	if bytes > r.limits.Bytes {
		strip(request, passes)
		bytes = size(request, passes)
	}
	number := r.limits.Requests
	if number == 0 {
		number = followed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limits.Requests == 0 && r.followers == 0 {
		return
	}
	r.last++
	request.ID = r.last
	r.requests = append(r.requests, kept{request, passes, bytes})
	r.bytes += bytes
	for len(r.requests) > number || r.bytes > r.limits.Bytes && len(r.requests) > 1 {
		r.bytes -= r.requests[0].bytes
		r.requests[0] = kept{}
		r.requests = r.requests[1:]
	}
	r.published.Set(r.last)
}

// Requests returns the kept requests that the filter selects, in the order of their ids.
func (r *Recorder) Requests(filter Filter) []*trace.Request {
	r.mu.Lock()
	var selected []kept
	for _, kept := range r.requests {
		if filter.selects(kept.request) {
			selected = append(selected, kept)
		}
	}
	r.mu.Unlock()
	if filter.Last > 0 {
		selected = selected[max(0, len(selected)-filter.Last):]
	}
	var requests []*trace.Request
	for _, kept := range selected { // without the lock, for which requests that end would wait
		requests = append(requests, whole(kept.request, kept.passes))
	}
	return requests
}

// Forget drops the kept requests. It does nothing on a nil recorder.
func (r *Recorder) Forget() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests, r.bytes = nil, 0
}

// Finish ends the recording. The recorder keeps the request if it reached admission, if authorization refused it, or if
// a fault was injected into it. It keeps no request of Recorder.Evaluate or Recorder.Observe.
func (r *Recording) Finish() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over = true
	r.recorder.inFlight.Add(-r.bytes)
	r.request.Took = trace.Duration(time.Since(r.received))
	// Authorization runs before the server reads the body, so the message of a refusal has no secret.
	if !r.recorder.limits.Secrets && !r.request.Forbidden && (r.redaction.met || holdsSecrets(r.request.Resource)) {
		r.redaction.texts(r.request)
	}
	if reached(r.request) && !r.evaluating && !r.observing {
		r.recorder.add(r.request, r.passes)
	}
}

// reached reports whether the request reached admission, was refused by authorization, or had a fault injected. The
// recorder keeps no other requests.
func reached(r *trace.Request) bool { return len(r.Admissions)+len(r.Faults) > 0 || r.Forbidden }

// Finished ends the recording, as Finish does, and returns the request.
func (r *Recording) Finished() *trace.Request {
	r.Finish()
	return whole(r.request, r.passes)
}
