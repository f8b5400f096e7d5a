package admissionwebhook

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// answering is a transport that answers each request with a status.
type answering int

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

// The transport of a call is the one that the interceptor's Interception names, or else the webhook's own.
func TestInterceptedTransport(t *testing.T) {
	t.Parallel()
	const own, other = 200, 418
	for _, test := range []struct {
		name, reason string
		interception *Interception
		want         int
	}{
		{"no interception", "the call is made without a change", nil, own},
		{"transport", "the interception replaces the transport",
			&Interception{Transport: func(http.RoundTripper) http.RoundTripper { return answering(other) }}, other},
		{"fault alone", "an interception without a transport only adds its fault to the record",
			&Interception{Fault: trace.Fault{Name: "slow"}}, own},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := WithInterceptor(t.Context(), func(context.Context, Target) *Interception { return test.interception })
			req := httptest.NewRequestWithContext(intercepted(ctx, Target{}, nil), http.MethodPost, "/", http.NoBody)
			response, err := Intercepting(answering(own)).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != test.want {
				t.Errorf("%s: want status %d, got %d", test.reason, test.want, response.StatusCode)
			}
		})
	}
}
