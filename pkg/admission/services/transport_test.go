package services

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// roundTrips is a transport that keeps the requests that it gets.
type roundTrips struct{ requests []*http.Request }

// RoundTrip implements http.RoundTripper.
func (r *roundTrips) RoundTrip(req *http.Request) (*http.Response, error) {
	r.requests = append(r.requests, req)
	return nil, errors.New("no server answers")
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	dialled := errors.New("dialled")
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, dialled }
	self := &roundTrips{}
	delegate := &webhook.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc:        func(string) (*rest.Config, error) { return &rest.Config{}, nil },
		ClientConfigForServiceFunc: func(string, string, int) (*rest.Config, error) { return &rest.Config{}, nil },
	}
	resolver := func(ca []byte) webhook.AuthenticationInfoResolver {
		loopback := &rest.Config{Transport: self, ContentConfig: rest.ContentConfig{ContentType: "application/x"}}
		return NewAuthentication(Addresses{{"ns", "placed", 0}: server.Listener.Addr().String()}, ca, loopback, dial, nil)(delegate)
	}
	tests := []struct {
		name, reason string
		config       func() (*rest.Config, error)
		// self means that the connection goes to this server itself. trusted means that servers with certificates
		// of ca are trusted.
		self, trusted bool
	}{
		{name: "URL", reason: "addresses in flags are only for services",
			config: func() (*rest.Config, error) { return resolver(ca).ClientConfigFor("placed.ns.svc:443") }},
		{name: "URL of the server", reason: "a URL needs no address of a service",
			config: func() (*rest.Config, error) { return resolver(ca).ClientConfigFor("kubernetes.default.svc:443") },
			self:   true},
		{name: "service", reason: "no flag has an address for the service",
			config: func() (*rest.Config, error) { return resolver(ca).ClientConfigForService("other", "ns", 443) }},
		{name: "placed service", reason: "a flag has an address for the service",
			config:  func() (*rest.Config, error) { return resolver(ca).ClientConfigForService("placed", "ns", 443) },
			trusted: true},
		{name: "placed service without an authority",
			reason: "the server has no authority that could sign the certificate",
			config: func() (*rest.Config, error) { return resolver(nil).ClientConfigForService("placed", "ns", 443) }},
		{name: "service of the server", reason: "the service of the server needs no address",
			config: func() (*rest.Config, error) { return resolver(ca).ClientConfigForService("kubernetes", "default", 443) },
			self:   true},
		{name: "other port of the server", reason: "no flag has an address for this port",
			config: func() (*rest.Config, error) { return resolver(ca).ClientConfigForService("kubernetes", "default", 80) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := test.config()
			if err != nil {
				t.Fatal(err)
			}
			base := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
			t.Cleanup(base.CloseIdleConnections)
			wrapped := config.WrapTransport(base)
			if test.self {
				if unwrapped(wrapped) != self || config.Transport != nil || config.ContentType != "" {
					t.Errorf("%s: the server is reached by %v, with the transport %v and content type %q", test.reason, wrapped, config.Transport, config.ContentType)
				}
				return
			}
			if _, err := config.Dial(t.Context(), "", ""); !errors.Is(err, dialled) {
				t.Errorf("%s: connections aren't made as was said: error %v", test.reason, err)
			}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			response, err := wrapped.RoundTrip(req)
			if unknown := new(x509.UnknownAuthorityError); test.trusted != (err == nil) || err != nil && !errors.As(err, unknown) {
				t.Errorf("%s: error %v, want trust: %t", test.reason, err, test.trusted)
			}
			if err == nil {
				_ = response.Body.Close()
			}
			if unwrapped(wrapped) == base && test.trusted || base.TLSClientConfig.RootCAs != nil {
				t.Errorf("%s: the transport that is shared was changed", test.reason)
			}
		})
	}
}

// trusting doesn't change a transport without TLS settings, a transport with a caBundle, and a transport of another
// type than http.Transport.
func TestTrustingOthers(t *testing.T) {
	t.Parallel()
	for _, given := range []http.RoundTripper{
		&http.Transport{},
		&http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}},
		&roundTrips{},
	} {
		if got := trusting(nil)(given); got != given {
			t.Errorf("%T became %T", given, got)
		}
	}
}

func TestPropagating(t *testing.T) {
	t.Parallel()
	base := &roundTrips{}
	rt := propagating(base)
	if wrapper, ok := rt.(utilnet.RoundTripperWrapper); !ok || wrapper.WrappedRoundTripper() != base {
		t.Error("the transport can't be unwrapped")
	}
	plain := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	traced := httptest.NewRequestWithContext(trace.ContextWithSpanContext(t.Context(), span), http.MethodGet, "/", nil)
	for _, req := range []*http.Request{plain, traced} {
		if response, err := rt.RoundTrip(req); err == nil {
			_ = response.Body.Close()
			t.Fatal("a server answers")
		}
	}
	if base.requests[0] != plain {
		t.Error("a request without a trace was copied")
	}
	if got, want := base.requests[1].Header.Get("traceparent"), "00-01000000000000000000000000000000-0200000000000000-01"; got != want {
		t.Errorf("traceparent %q, want %q", got, want)
	}
	if len(traced.Header) != 0 {
		t.Error("the caller's request was changed")
	}
}
