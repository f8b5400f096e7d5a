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
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"

	"github.com/miniapi-dev/miniapi/pkg/admission/webhook"
)

// NewWebhookAuthentication returns how the server authenticates webhooks and shows them its own credentials. The server
// itself is reached by loopback, whose transport needs no address. A service in addresses is also trusted by a
// certificate of ca, unless its configuration has a caBundle: then the caBundle alone counts. dial makes all
// connections, so that no connection is shared with another server; if dial is nil, the library makes them. tracer
// traces the calls; if it is nil, the calls carry the caller's trace.
func NewWebhookAuthentication(addresses ServiceAddresses, ca []byte, loopback *rest.Config, dial Dial, tracer trace.TracerProvider) webhookutil.AuthenticationInfoResolverWrapper {
	traced := propagating
	if tracer != nil {
		traced = tracing.WrapperFor(tracer)
	}
	self := rest.CopyConfig(loopback)
	self.Transport = nil // a config with a transport can't have a caBundle
	self.WrapTransport = func(http.RoundTripper) http.RoundTripper { return webhook.Intercepting(loopback.Transport) }
	self.ContentConfig = rest.ContentConfig{} // reviews are JSON
	return func(delegate webhookutil.AuthenticationInfoResolver) webhookutil.AuthenticationInfoResolver {
		return &webhookutil.AuthenticationInfoResolverDelegator{
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
				config.Wrap(webhook.Intercepting)
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
				config.Wrap(webhook.Intercepting)
				return config, nil
			},
		}
	}
}

// Dial makes a connection.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// trusting makes a transport that trusts the system's roots trust ca too. The library would add ca to every caBundle.
func trusting(ca []byte) func(http.RoundTripper) http.RoundTripper {
	return func(rt http.RoundTripper) http.RoundTripper {
		base, ok := unwrapped(rt).(*http.Transport)
		if !ok || base.TLSClientConfig == nil || base.TLSClientConfig.RootCAs != nil {
			return rt
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // the system has no roots
		}
		roots.AppendCertsFromPEM(ca)
		base = base.Clone() // the library may share the transport
		base.TLSClientConfig.RootCAs = roots
		return base
	}
}

// propagating adds the caller's trace to requests. The library adds a span too, which isn't recorded and takes a
// twentieth of a call.
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
		req = req.Clone(req.Context()) // a round tripper must not change the request
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
