package decisions

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// maxError is the size up to which the body of an error is read.
const maxError = 64 << 10

// Handler records the requests that the handler for resources serves, while the recorder is on. The requests are
// authenticated and authorized.
func (d *Decisions) Handler(api http.Handler) http.Handler {
	recorded := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !d.Recorder.On() || trace.From(req.Context()) != nil {
			api.ServeHTTP(w, req)
			return
		}
		info, ok := request.RequestInfoFrom(req.Context())
		if !ok || !mayBeAdmitted(info) {
			api.ServeHTTP(w, req)
			return
		}
		d.record(d.Recorder.Begin(described(req, info)), api, w, req)
	}))
	d.api.Store(&recorded)
	return recorded
}

// mayBeAdmitted is false for requests that admission never sees: reads, except of subresources, which may be
// connections.
func mayBeAdmitted(info *request.RequestInfo) bool {
	switch info.Verb {
	case "get", "list", "watch":
		return info.IsResourceRequest && info.Subresource != ""
	}
	return info.IsResourceRequest
}

func described(req *http.Request, info *request.RequestInfo) trace.Request {
	r := trace.Request{
		Received:  time.Now(),
		UserAgent: req.UserAgent(),
		Verb:      info.Verb,
		Resource:  trace.Resource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource},
		Namespace: info.Namespace,
		Name:      info.Name,
	}
	if received, ok := request.ReceivedTimestampFrom(req.Context()); ok {
		r.Received = received
	}
	if id, ok := audit.AuditIDFrom(req.Context()); ok {
		r.AuditID = string(id)
	}
	if user, ok := request.UserFrom(req.Context()); ok {
		r.User = trace.User{Name: user.GetName(), Groups: user.GetGroups()}
	}
	return r
}

// record serves a request and records its response.
func (d *Decisions) record(recording *trace.Recording, api http.Handler, w http.ResponseWriter, req *http.Request) {
	response := &response{ResponseWriter: w}
	defer func() { // even if the handler panics to cut the connection
		failure := failureOf(response.code, response.body.Bytes(), d.Decoder)
		recording.Update(func(r *trace.Request) { r.Answered(response.code, failure) })
		recording.Finish()
	}()
	ctx := trace.Within(req.Context(), &trace.Scope{Recording: recording})
	api.ServeHTTP(responsewriter.WrapForHTTP1Or2(response), req.WithContext(ctx))
}

// response records the status of a response, and the body of an error.
type response struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Hijack implements http.Hijacker.
func (r *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.code = http.StatusSwitchingProtocols
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	if r.code >= http.StatusBadRequest && r.body.Len()+len(p) <= maxError {
		r.body.Write(p)
	}
	return r.ResponseWriter.Write(p)
}

// failureOf returns the error of a response, or nil.
func failureOf(code int, body []byte, decoder runtime.Decoder) *trace.Error {
	if code < http.StatusBadRequest {
		return nil
	}
	decoded, _, err := decoder.Decode(body, nil, nil)
	if status, ok := decoded.(*metav1.Status); ok && err == nil {
		return &trace.Error{Code: code, Reason: string(status.Reason), Message: status.Message}
	}
	return &trace.Error{Code: code, Message: http.StatusText(code)}
}
