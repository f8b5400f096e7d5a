package aggregation

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/controllers/status/remote"
)

// endpoint finds the server of an APIService and connects to it.
type endpoint struct {
	config  *Config
	service *apiregistrationv1.APIService
	// life ends when the APIService is removed, when its spec changes, or when this server stops.
	life context.Context
	// made is the transport, or nil before the first use.
	made atomic.Pointer[http.RoundTripper]
}

// transport returns the transport for requests of clients. Until renewedTransport has made one, each call tries to
// make one.
func (e *endpoint) transport() (http.RoundTripper, error) {
	if made := e.made.Load(); made != nil {
		return *made, nil
	}
	return e.renewedTransport(e.life)
}

// renewedTransport makes a transport with the present client certificate. Config.Identity also publishes the
// authority of the certificate again, because a restore of a snapshot may have removed it. After an error,
// renewedTransport returns the old transport, if there is one. For example, the certificate and the key don't match
// while another process replaces their files.
func (e *endpoint) renewedTransport(ctx context.Context) (http.RoundTripper, error) {
	t, err := e.newTransport(ctx)
	if err == nil {
		e.made.Store(&t)
		return t, nil
	}
	if made := e.made.Load(); made != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "requests continue with the earlier certificate", "APIService", e.service.Name)
		return *made, nil
	}
	return nil, err
}

func (e *endpoint) newTransport(ctx context.Context) (http.RoundTripper, error) {
	cert, key, err := e.config.Identity(ctx)
	if err != nil {
		return nil, err
	}
	return transport.New(remote.BuildTransportConfig(e.config.Dial, cert, key, e.service))
}

// release closes idle connections.
func (e *endpoint) release() {
	if made := e.made.Load(); made != nil {
		utilnet.CloseIdleConnectionsFor(*made)
	}
}

// urlOf returns the URL of a path on a server.
func urlOf(host, path string) string {
	location := url.URL{Scheme: "https", Host: host, Path: path}
	return location.String()
}
