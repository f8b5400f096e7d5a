package admission

import (
	"context"
	"crypto/x509"
	"maps"
	"net"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
)

// NewWebhookAuthentication says how webhooks are authenticated and what proves to the server who
// they are. The server itself is reached by loopback, whose transport needs no address. A service that is in
// addresses is also trusted by a certificate of ca, unless its configuration has a caBundle: that stays the one
// thing which counts. All connections are made by dial, so that none is shared with another server; nil leaves
// them to the library. Calls are traced by tracer; without one, the caller's trace is passed on.
func NewWebhookAuthentication(addresses ServiceAddresses, ca []byte, loopback *rest.Config, dial Dial, tracer trace.TracerProvider) webhook.AuthenticationInfoResolverWrapper {
	traced := propagating
	if tracer != nil {
		traced = tracing.WrapperFor(tracer)
	}
	self := rest.CopyConfig(loopback)
	self.Transport = nil // which no caBundle may be given beside
	self.WrapTransport = func(http.RoundTripper) http.RoundTripper { return loopback.Transport }
	self.ContentConfig = rest.ContentConfig{} // reviews are JSON
	return func(delegate webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return &webhook.AuthenticationInfoResolverDelegator{
			ClientConfigForFunc: func(hostPort string) (*rest.Config, error) {
				if hostPort == selfHostPort {
					return self, nil
				}
				config, err := delegate.ClientConfigFor(hostPort)
				if err != nil {
					return nil, err
				}
				config.Dial = dial
				config.Wrap(traced)
				return config, nil
			},
			ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
				if isSelf(namespace, name, int32(port)) {
					return self, nil
				}
				config, err := delegate.ClientConfigForService(name, namespace, port)
				if err != nil {
					return nil, err
				}
				config.Dial = dial
				if _, placed := addresses.find(namespace, name, int32(port)); placed && len(ca) > 0 {
					config.Wrap(trusting(ca))
				}
				config.Wrap(traced)
				return config, nil
			},
		}
	}
}

// Dial makes a connection.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// trusting makes a transport that verifies servers with the system's roots verify them with ca too.
// The library would add it to every caBundle.
func trusting(ca []byte) func(http.RoundTripper) http.RoundTripper {
	return func(rt http.RoundTripper) http.RoundTripper {
		base, ok := unwrapped(rt).(*http.Transport)
		if !ok || base.TLSClientConfig == nil || base.TLSClientConfig.RootCAs != nil {
			return rt
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // the machine has none
		}
		roots.AppendCertsFromPEM(ca)
		base = base.Clone() // the library may share it
		base.TLSClientConfig.RootCAs = roots
		return base
	}
}

// propagating passes the caller's trace on. The library does it with a span that nobody records,
// which takes a twentieth of a call.
func propagating(rt http.RoundTripper) http.RoundTripper {
	return propagatingRoundTripper{rt, tracing.Propagators()}
}

type propagatingRoundTripper struct {
	http.RoundTripper
	propagators propagation.TextMapPropagator
}

// RoundTrip implements http.RoundTripper.
func (p propagatingRoundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	header := http.Header{}
	p.propagators.Inject(req.Context(), propagation.HeaderCarrier(header))
	if len(header) > 0 {
		req = req.Clone(req.Context()) // it isn't a round tripper's to change
		maps.Copy(req.Header, header)
	}
	return p.RoundTripper.RoundTrip(req)
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (p propagatingRoundTripper) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }

func unwrapped(rt http.RoundTripper) http.RoundTripper {
	for {
		wrapper, ok := rt.(utilnet.RoundTripperWrapper)
		if !ok {
			return rt
		}
		rt = wrapper.WrappedRoundTripper()
	}
}
