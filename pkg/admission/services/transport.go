package services

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

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionwebhook"
)

// NewAuthentication returns the resolver that gives the connection to a webhook its TLS settings and
// credentials.
//
// For port 443 of the service default/kubernetes, the resolver returns kubernetes' transport, which needs no address: it
// leads to this server itself, or to the cluster that the server is behind. For a service in addresses, the server also trusts certificates of ca. If the webhook's configuration has a caBundle, the server
// trusts only the caBundle.
//
// dial makes all other connections, so that servers of a process don't share them. If dial is nil, the servers share
// connections to webhooks that are configured with a URL. tracer traces the calls. If tracer is nil, a call only
// carries on the trace of the client's request.
func NewAuthentication(addresses Addresses, ca []byte, kubernetes *rest.Config, dial Dial, tracer trace.TracerProvider) webhookutil.AuthenticationInfoResolverWrapper {
	traced := propagating
	if tracer != nil {
		traced = tracing.WrapperFor(tracer)
	}
	self := rest.CopyConfig(kubernetes)
	self.Transport = nil // client-go refuses a caBundle in a config with a Transport
	self.WrapTransport = func(http.RoundTripper) http.RoundTripper { return admissionwebhook.Intercepting(kubernetes.Transport) }
	self.ContentConfig = rest.ContentConfig{} // reviews are always JSON
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
				config.Wrap(admissionwebhook.Intercepting)
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
				config.Wrap(admissionwebhook.Intercepting)
				return config, nil
			},
		}
	}
}

// Dial opens a network connection.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// trusting returns a wrapper of transports. If a transport has TLS settings without certificate authorities, the
// wrapper returns a copy that trusts the system's certificate authorities and ca. It returns any other transport
// unchanged, such as one with a caBundle.
func trusting(ca []byte) func(http.RoundTripper) http.RoundTripper {
	return func(rt http.RoundTripper) http.RoundTripper {
		base, ok := unwrapped(rt).(*http.Transport)
		if !ok || base.TLSClientConfig == nil || base.TLSClientConfig.RootCAs != nil {
			return rt
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // the system has no certificate authorities
		}
		roots.AppendCertsFromPEM(ca)
		base = base.Clone() // client-go may share the transport between clients
		base.TLSClientConfig.RootCAs = roots
		return base
	}
}

// propagating adds the trace of the client's request to the calls. The wrapper of component-base/tracing would also
// make a span, which isn't recorded here and takes a twentieth of a call's time.
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
		req = req.Clone(req.Context()) // a RoundTripper must not change the request
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
