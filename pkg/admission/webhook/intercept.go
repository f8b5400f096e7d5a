package webhook

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// Target is the call of a webhook for a request.
type Target struct {
	// Configuration and Webhook are names.
	Configuration, Webhook string
	// Attributes are those of the request that is reviewed.
	Attributes admission.Attributes
}

// Interceptor is called before each call of a webhook. It returns nil to leave the call alone.
type Interceptor func(ctx context.Context, target Target) *Interception

// Interception is what an interceptor does to a call.
type Interception struct {
	// Fault names the reason in a trace.
	Fault trace.Fault
	// Transport returns the transport of the call, given the one that the call has.
	Transport func(http.RoundTripper) http.RoundTripper
}

type (
	interceptorKey struct{}
	transportKey   struct{}
)

// WithInterceptor returns a context in whose requests an interceptor sees the calls of webhooks. The context of a
// request has at most one.
func WithInterceptor(ctx context.Context, interceptor Interceptor) context.Context {
	return context.WithValue(ctx, interceptorKey{}, interceptor)
}

// intercepted returns the context of a call, and records an interception.
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
	return context.WithValue(ctx, transportKey{}, interception.Transport)
}

// Intercepting wraps the transport of webhooks, so that an interceptor can replace it for a call.
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
