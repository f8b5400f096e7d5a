package trial

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/listener"
)

// Call is a review that a hook of the case was sent.
type Call struct {
	*listener.Call

	// Hook is the short name.
	Hook string
	// Review is the decoded body.
	Review Object
}

// Request returns the request of the review.
func (c *Call) Request() Object { return c.Review.Sub("request") }

// Response is the response of a review, without its uid.
type Response = map[string]any

// Reply answers a call.
type Reply func(http.ResponseWriter, *http.Request, *Call)

// Answering replies with what a function returns.
func Answering(answer func(*Call) Response) Reply {
	return func(w http.ResponseWriter, _ *http.Request, c *Call) { write(w, c, answer(c)) }
}

// Always replies with one response.
func Always(response Response) Reply { return Answering(func(*Call) Response { return response }) }

// Allow allows the request.
func Allow() Reply { return Always(Response{"allowed": true}) }

// Deny refuses the request with a code and a message.
func Deny(code int, message string) Reply {
	return Always(Response{"allowed": false, "status": Object{"code": code, "message": message}})
}

// Warn allows the request with warnings.
func Warn(warnings ...string) Reply {
	return Always(Response{"allowed": true, "warnings": warnings})
}

// Op is an operation of a JSON patch.
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Add returns an operation that adds a value.
func Add(path string, value any) Op { return Op{Op: "add", Path: path, Value: value} }

// Patched returns a response that allows the request with changes.
func Patched(ops ...Op) Response {
	return Response{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString(encoded(ops))}
}

// Patch patches the object.
func Patch(ops ...Op) Reply { return Always(Patched(ops...)) }

// Hang answers nothing.
func (t *T) Hang() Reply {
	return func(_ http.ResponseWriter, r *http.Request, _ *Call) { listener.Hang(t.Context(), r) }
}

// After answers as a reply does, but not before a time has passed.
func (t *T) After(wait time.Duration, reply Reply) Reply {
	return func(w http.ResponseWriter, r *http.Request, c *Call) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			reply(w, r, c)
		case <-r.Context().Done():
		case <-t.Context().Done():
		}
	}
}

// Abort closes the connection of the call that is being answered.
func Abort() {
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to close a connection without an answer
}

// Raw replies with a status code and a body.
func Raw(code int, body any) Reply {
	return func(w http.ResponseWriter, _ *http.Request, _ *Call) {
		w.Header().Set("Content-Type", JSON)
		w.WriteHeader(code)
		_, _ = w.Write(encoded(body)) // the caller may have given up
	}
}

// Review replies with a whole review, which a function makes.
func Review(review func(*Call) any) Reply {
	return func(w http.ResponseWriter, r *http.Request, c *Call) { Raw(http.StatusOK, review(c))(w, r, c) }
}

// write answers in the version of the review, with its uid unless the response has one.
func write(w http.ResponseWriter, c *Call, response Response) {
	answer := Object{"uid": c.Review.At("request.uid")}
	for key, value := range response {
		answer[key] = value
	}
	Raw(http.StatusOK, Object{"apiVersion": c.Review["apiVersion"], "kind": "AdmissionReview", "response": answer})(w, nil, c)
}

// Calls returns the calls of the case's hooks since the last Forget, in order of arrival. Without names, of all hooks.
func (t *T) Calls(hooks ...string) []*Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var calls []*Call
	for _, c := range t.calls {
		if len(hooks) == 0 || slices.Contains(hooks, c.Hook) {
			calls = append(calls, c)
		}
	}
	return calls
}

// Forget forgets the calls so far.
func (t *T) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = nil
}

// Called compares the hooks that were called since the last Forget, in order, with those expected, and forgets the calls.
func (t *T) Called(expected ...string) {
	seen := []string{}
	for _, c := range t.Calls() {
		seen = append(seen, c.Hook)
	}
	t.Forget()
	if expected == nil {
		expected = []string{}
	}
	t.Equal("the hooks that are called", expected, seen)
}

// One returns the request of the one call of a hook since the last Forget, and forgets all calls. Any other number of
// calls ends the case.
func (t *T) One(hook string) Object {
	calls := t.Calls(hook)
	t.Forget()
	if len(calls) != 1 {
		seen := fmt.Sprintf("%d calls", len(calls))
		for _, c := range calls {
			seen += "\n" + text(c.Review)
		}
		t.Fatal(conformance.Finding{Sent: t.last(), Expected: fmt.Sprintf("one call of the webhook %q", hook), Seen: seen})
	}
	return calls[0].Request()
}
