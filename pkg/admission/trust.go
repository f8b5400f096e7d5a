package admission

import (
	"crypto/x509"
	"net/http"

	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/component-base/tracing"
)

// NewWebhookAuthentication says how webhooks are authenticated and what proves to the server who
// they are. A service that is in addresses is also trusted by a certificate of ca, unless its
// configuration has a caBundle: that stays the one thing which counts.
func NewWebhookAuthentication(addresses ServiceAddresses, ca []byte, loopback *rest.Config, tracer trace.TracerProvider) webhook.AuthenticationInfoResolverWrapper {
	if tracer == nil {
		tracer = tracing.NewNoopTracerProvider()
	}
	wrap := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, loopback, tracer)
	return func(delegate webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		authentication := wrap(delegate)
		return &webhook.AuthenticationInfoResolverDelegator{
			ClientConfigForFunc: authentication.ClientConfigFor,
			ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
				config, err := authentication.ClientConfigForService(name, namespace, port)
				if _, placed := addresses.find(namespace, name, int32(port)); err != nil || !placed || len(ca) == 0 {
					return config, err
				}
				config = rest.CopyConfig(config)
				config.WrapTransport = transport.Wrappers(trusting(ca), config.WrapTransport)
				return config, nil
			},
		}
	}
}

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
