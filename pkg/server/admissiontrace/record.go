package admissiontrace

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// maxError is the largest number of bytes of an error's body that a response keeps.
const maxError = 64 << 10

// Handler returns a handler that calls next, and records the requests while the recorder is on or an OpenTelemetry trace
// follows the request. It doesn't record requests for paths below Prefix. The requests have been authenticated and
// authorized. The record of a request without admission and faults is dropped when the request ends. Most reads are
// such requests.
func (t *Trace) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		kept, traced := t.Recorder.On(), oteltrace.SpanFromContext(req.Context()).IsRecording()
		if !kept && !traced || !ok || strings.HasPrefix(info.Path, Prefix) {
			next.ServeHTTP(w, req)
			return
		}
		recording := t.Recorder.Begin(requested(req, info))
		if recording == nil {
			recording = t.Recorder.Observe(requested(req, info))
		}
		t.record(recording, next, w, req)
	})
}

// requested returns the description of a request, for its record.
func requested(req *http.Request, info *request.RequestInfo) trace.Request {
	r := described(req.Context(), info)
	r.UserAgent = req.UserAgent()
	return r
}

// described returns the description of the request of a context, without the client's User-Agent.
func described(ctx context.Context, info *request.RequestInfo) trace.Request {
	r := trace.Request{
		Received:  time.Now(),
		Verb:      info.Verb,
		Resource:  trace.Resource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource},
		Namespace: info.Namespace,
		Name:      info.Name,
	}
	if !info.IsResourceRequest {
		r.Path = info.Path
	}
	if received, ok := request.ReceivedTimestampFrom(ctx); ok {
		r.Received = received
	}
	if id, ok := audit.AuditIDFrom(ctx); ok {
		r.AuditID = string(id)
	}
	if user, ok := request.UserFrom(ctx); ok {
		r.User = trace.User{Name: user.GetName(), Groups: user.GetGroups()}
	}
	return r
}

// record serves a request and records its response.
func (t *Trace) record(recording *recorder.Recording, api http.Handler, w http.ResponseWriter, req *http.Request) {
	response := &response{ResponseWriter: w}
	defer func() { // record the response even if the handler panics to break the connection off
		failure := failureOf(response.code, response.body.Bytes(), t.Decoder)
		recording.Answered(response.code, failure)
		recording.Finish()
	}()
	ctx := recorder.Within(req.Context(), &recorder.Scope{Recording: recording})
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
	if r.code >= http.StatusBadRequest {
		r.body.Write(p[:min(len(p), maxError-r.body.Len())])
	}
	return r.ResponseWriter.Write(p)
}
