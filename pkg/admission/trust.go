package admission

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"

	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
)

// NewWebhookAuthentication says how webhooks are authenticated and what proves to the server who
// they are. A service that is in addresses is also trusted by a certificate of ca, unless its
// configuration has a caBundle: that stays the one thing which counts. All connections are made by
// dial, so that none is shared with another server; nil leaves them to the library.
func NewWebhookAuthentication(addresses ServiceAddresses, ca []byte, loopback *rest.Config, dial Dial, tracer trace.TracerProvider) webhook.AuthenticationInfoResolverWrapper {
	if tracer == nil {
		tracer = tracing.NewNoopTracerProvider()
	}
	wrap := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, loopback, tracer)
	return func(delegate webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return wrap(&webhook.AuthenticationInfoResolverDelegator{
			ClientConfigForFunc: func(hostPort string) (*rest.Config, error) {
				config, err := delegate.ClientConfigFor(hostPort)
				if err != nil {
					return nil, err
				}
				config.Dial = dial
				return config, nil
			},
			ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
				config, err := delegate.ClientConfigForService(name, namespace, port)
				if err != nil {
					return nil, err
				}
				config.Dial = dial
				if _, placed := addresses.find(namespace, name, int32(port)); placed && len(ca) > 0 {
					config.Wrap(trusting(ca))
				}
				return config, nil
			},
		})
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

func unwrapped(rt http.RoundTripper) http.RoundTripper {
	for {
		wrapper, ok := rt.(utilnet.RoundTripperWrapper)
		if !ok {
			return rt
		}
		rt = wrapper.WrappedRoundTripper()
	}
}
