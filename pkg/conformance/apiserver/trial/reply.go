package trial

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// Response is the response to a review. A response without a uid gets the uid of the request.
type Response = map[string]any

// Reply is the behaviour of a webhook: it answers a call.
type Reply func(http.ResponseWriter, *http.Request, *Call)

// Answering returns a reply with the response that a function returns.
func Answering(answer func(*Call) Response) Reply {
	return func(w http.ResponseWriter, _ *http.Request, c *Call) { write(w, c, answer(c)) }
}

// Always returns a reply that is the same for every call.
func Always(response Response) Reply { return Answering(func(*Call) Response { return response }) }

// Allow returns a reply that allows the request.
func Allow() Reply { return Always(Response{"allowed": true}) }

// Deny returns a reply that refuses the request, with a code and a message.
func Deny(code int, message string) Reply {
	return Always(Response{"allowed": false, "status": Object{"code": code, "message": message}})
}

// Warn returns a reply that allows the request, with warnings.
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

// Patched returns a response that allows the request and changes the object.
func Patched(ops ...Op) Response {
	return Response{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString(encoded(ops))}
}

// Patch returns a reply that patches the object.
func Patch(ops ...Op) Reply { return Always(Patched(ops...)) }

// Hang returns a reply that never answers.
func (t *T) Hang() Reply {
	return func(_ http.ResponseWriter, r *http.Request, _ *Call) { webhookserver.Hang(t.Context(), r) }
}

// After returns a reply that waits, and then answers like the argument reply.
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

// Abort ends the call without an answer: it closes the connection or the HTTP/2 stream.
func Abort() {
	panic(http.ErrAbortHandler) //nolint:forbidigo // this panic makes net/http break the connection off
}

// Raw returns a reply with a status code and a body.
func Raw(code int, body any) Reply {
	return func(w http.ResponseWriter, _ *http.Request, _ *Call) {
		w.Header().Set("Content-Type", JSON)
		w.WriteHeader(code)
		_, _ = w.Write(encoded(body)) // an error means that the server has closed the connection
	}
}

// Review returns a reply with the AdmissionReview or ConversionReview that a function returns.
func Review(review func(*Call) any) Reply {
	return func(w http.ResponseWriter, r *http.Request, c *Call) { Raw(http.StatusOK, review(c))(w, r, c) }
}

// write answers a call in the version of its review.
func write(w http.ResponseWriter, c *Call, response Response) {
	answer := Object{"uid": c.Review.At("request.uid")}
	for key, value := range response {
		answer[key] = value
	}
	Raw(http.StatusOK, Object{"apiVersion": c.Review["apiVersion"], "kind": "AdmissionReview", "response": answer})(w, nil, c)
}
