package admissionwebhook

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Target identifies the call of a webhook for a request.
type Target struct {
	// Configuration and Webhook are the names of the webhook configuration and of the webhook.
	Configuration, Webhook string
	// Attributes describe the request, such as its user, its operation and its object.
	Attributes admission.Attributes
}

// Interceptor is a function that is called before each call of a webhook. If it returns nil, the call is made without a
// change.
type Interceptor func(ctx context.Context, target Target) *Interception

// Interception says what an interceptor changes about a call.
type Interception struct {
	// Fault is the fault that the recording of the request shows.
	Fault trace.Fault
	// Transport returns the transport for this call. Its argument is the transport that the call would use otherwise.
	// If Transport is nil, the call uses that transport.
	Transport func(http.RoundTripper) http.RoundTripper
}

type (
	interceptorKey struct{}
	transportKey   struct{}
)

// WithInterceptor returns a context for a request. The interceptor is called before each call of a webhook for that
// request. A context has at most one interceptor.
func WithInterceptor(ctx context.Context, interceptor Interceptor) context.Context {
	return context.WithValue(ctx, interceptorKey{}, interceptor)
}

// intercepted calls the interceptor of the context, if there is one. It adds the interceptor's fault to the record, and
// returns a context with the interceptor's transport for the webhook's call.
func intercepted(ctx context.Context, target Target, record *callRecord) context.Context {
	intercept, ok := ctx.Value(interceptorKey{}).(Interceptor)
	if !ok {
		return ctx
	}
	interception := intercept(ctx, target)
	if interception == nil {
		return ctx
	}
	record.intercepted(interception.Fault)
	if interception.Transport == nil {
		return ctx
	}
	return throughTransport(ctx, interception.Transport)
}

// throughTransport returns a context whose calls go through the transport that wrap returns. If the context has such a
// transport already, the new one is around it.
func throughTransport(ctx context.Context, wrap func(http.RoundTripper) http.RoundTripper) context.Context {
	if inner, ok := ctx.Value(transportKey{}).(func(http.RoundTripper) http.RoundTripper); ok {
		outer := wrap
		wrap = func(rt http.RoundTripper) http.RoundTripper { return outer(inner(rt)) }
	}
	return context.WithValue(ctx, transportKey{}, wrap)
}

// Intercepting wraps the transport of webhooks, so that an interceptor or a record can wrap the transport of a single call.
func Intercepting(rt http.RoundTripper) http.RoundTripper { return intercepting{rt} }

type intercepting struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (i intercepting) RoundTrip(req *http.Request) (*http.Response, error) {
	if transport, ok := req.Context().Value(transportKey{}).(func(http.RoundTripper) http.RoundTripper); ok {
		return transport(i.RoundTripper).RoundTrip(req)
	}
	return i.RoundTripper.RoundTrip(req)
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (i intercepting) WrappedRoundTripper() http.RoundTripper { return i.RoundTripper }
