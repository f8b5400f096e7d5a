package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionwebhook"
)

// interceptor returns a function that injects faults into calls of webhooks. The server makes these calls for the
// request of v.
func (v *visit) interceptor(all rules) admissionwebhook.Interceptor {
	return func(_ context.Context, target admissionwebhook.Target) *admissionwebhook.Interception {
		met := all.inject(v.subject.called(target))
		if met == nil {
			return nil
		}
		e := met.event()
		v.events.add(e)
		return &admissionwebhook.Interception{Fault: e.traced(), Transport: func(base http.RoundTripper) http.RoundTripper {
			return &transport{met, base, v.config.Stopping}
		}}
	}
}

// transport is the transport of a call of a webhook that meets a fault.
type transport struct {
	*injection
	base     http.RoundTripper
	stopping context.Context
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if t.delay > 0 {
		wait(ctx, t.stopping, t.delay)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if t.fault.Executed {
		if response, err := t.base.RoundTrip(req); err == nil {
			_ = response.Body.Close()
		}
	}
	switch t.effect {
	case none:
		return t.base.RoundTrip(req)
	case status:
		return t.refused(req), nil
	case timeout:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case refuse:
		return nil, connectionError("dial", "connect", syscall.ECONNREFUSED)
	case reset:
		return nil, connectionError("read", "read", syscall.ECONNRESET)
	}
	response, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if t.effect == truncate {
		response.Body = &truncated{response.Body, int64(*t.fault.Truncate)}
		return response, nil
	}
	return response, t.rewrite(response)
}

// refused returns a response with an error status, as a webhook's server might send it.
func (t *transport) refused(req *http.Request) *http.Response {
	text := http.StatusText(t.fault.Status)
	response := &http.Response{
		Status: strconv.Itoa(t.fault.Status) + " " + text, StatusCode: t.fault.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:   io.NopCloser(strings.NewReader(text + "\n")), ContentLength: -1, Request: req,
	}
	if t.retryAfter > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(t.retryAfter))
	}
	return response
}

// connectionError returns the error of a connection that the operating system reports.
func connectionError(operation, call string, number syscall.Errno) error {
	return &net.OpError{Op: operation, Net: "tcp", Err: os.NewSyscallError(call, number)}
}

// rewrite puts a wrong uid or an impossible patch into the AdmissionReview of a response. A response without an
// AdmissionReview stays unchanged.
func (t *transport) rewrite(response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if changed, ok := t.changed(body); ok {
		body = changed
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return nil
}

const (
	// strangeUID is a uid that no review has.
	strangeUID = "00000000-0000-0000-0000-000000000000"
	// impossiblePatch removes a field that no object has, so it can't be applied.
	impossiblePatch = `[{"op":"remove","path":"/miniapi-injected-fault"}]`
)

// changed puts a wrong uid or an impossible patch into an AdmissionReview. It returns false if the body has no response
// of an AdmissionReview.
func (t *transport) changed(body []byte) ([]byte, bool) {
	var review, answer map[string]json.RawMessage
	if json.Unmarshal(body, &review) != nil || json.Unmarshal(review["response"], &answer) != nil || answer == nil {
		return nil, false
	}
	changes := map[string]any{"uid": strangeUID}
	if t.effect == badPatch {
		changes = map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": []byte(impossiblePatch)}
	}
	for field, value := range changes {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, false
		}
		answer[field] = encoded
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		return nil, false
	}
	review["response"] = encoded
	changed, err := json.Marshal(review)
	return changed, err == nil
}

// truncated is a body of a response that breaks off after a number of bytes.
type truncated struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *truncated) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
