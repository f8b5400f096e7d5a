package registry

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/registry/rest"
)

// locator finds where what a proxy request names is, and how it is reached: the name
// may have a scheme before and a port after it, as "https:name:port".
type locator func(ctx context.Context, id string) (*url.URL, http.RoundTripper, error)

// proxySubresource serves requests to what an object stands for, asked for with
// options O, which hold the path.
func proxySubresource[O runtime.Object](path func(O) string, locate func(*Storage, Dependencies, http.RoundTripper) (locator, error)) Subresource {
	var options O
	newOptions := NewOf(options)
	return Subresource{Name: "proxy", Options: newOptions(), Storage: func(main *Storage, deps Dependencies) (rest.Storage, error) {
		transport := proxyTransport()
		locate, err := locate(main, deps, transport)
		if err != nil {
			return nil, err
		}
		return &proxyREST{
			locate: locate, transport: transport,
			options: newOptions,
			path:    func(o runtime.Object) string { return path(o.(O)) },
		}, nil
	}}
}

// proxyTransport reaches pods by their addresses, which no certificate has: they
// aren't verified.
func proxyTransport() *http.Transport {
	return utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
}

// proxyREST serves pods/proxy, services/proxy and nodes/proxy.
type proxyREST struct {
	locate    locator
	transport *http.Transport
	options   func() runtime.Object
	path      func(runtime.Object) string
}

var _ rest.Connecter = &proxyREST{}

func (r *proxyREST) New() runtime.Object { return r.options() }

// Destroy gives up the connections that are idle.
func (r *proxyREST) Destroy() { r.transport.CloseIdleConnections() }

// ConnectMethods are all that HTTP has for resources.
func (r *proxyREST) ConnectMethods() []string {
	return []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodHead, http.MethodOptions,
	}
}

// NewConnectOptions returns empty options, whose path is what follows "/proxy".
func (r *proxyREST) NewConnectOptions() (runtime.Object, bool, string) {
	return r.options(), true, "path"
}

// Connect passes the request on, and rewrites links in its answer to come back here.
func (r *proxyREST) Connect(ctx context.Context, id string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	location, transport, err := r.locate(ctx, id)
	if err != nil {
		return nil, err
	}
	location.Path = utilnet.JoinPreservingTrailingSlash(location.Path, r.path(options))
	return utilproxy.NewUpgradeAwareHandler(location, transport, true, false, utilproxy.NewErrorResponder(responder)), nil
}

// upgradeHandler passes on connections that are upgraded, and no others.
func upgradeHandler(location *url.URL, transport http.RoundTripper, responder rest.Responder) http.Handler {
	return utilproxy.NewUpgradeAwareHandler(location, transport, false, true, utilproxy.NewErrorResponder(responder))
}
