package aggregation

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/controllers/status/remote"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/admission"
)

// endpoint is where the server of an APIService is, and how connections to that server are made.
type endpoint struct {
	config  *Config
	service *apiregistrationv1.APIService
	// life ends with the remote API.
	life context.Context
	// made is the transport, once there is one.
	made atomic.Pointer[http.RoundTripper]
}

// transport is made at the first use, as a certificate may have to be, and at the next if that fails.
func (e *endpoint) transport() (http.RoundTripper, error) {
	if made := e.made.Load(); made != nil {
		return *made, nil
	}
	return e.renewedTransport(e.life)
}

// renewedTransport is of the certificate as it is now, which the server is told to trust: what it was told may have
// been put back, or the files be others. While they don't fit each other, it is the one before.
func (e *endpoint) renewedTransport(ctx context.Context) (http.RoundTripper, error) {
	t, err := e.newTransport(ctx)
	if err == nil {
		e.made.Store(&t)
		return t, nil
	}
	if made := e.made.Load(); made != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "requests go on with the certificate from before", "APIService", e.service.Name)
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

// host is where the server is.
func (e *endpoint) host() (string, error) {
	s := e.service.Spec.Service
	location, err := e.config.Services.ResolveEndpoint(s.Namespace, s.Name, ptr.Deref(s.Port, defaultPort))
	if err != nil {
		return "", err
	}
	return location.Host, nil
}

// unreachable says why there is no host to ask.
func (e *endpoint) unreachable(err error) apiregistrationv1.APIServiceCondition {
	s := e.service.Spec.Service
	if apierrors.IsNotFound(err) {
		return unavailable("ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", s.Name, s.Namespace))
	}
	if _, ok := apierrors.StatusCause(err, admission.CauseNoServicePort); ok {
		return unavailable("ServicePortError", fmt.Sprintf("service/%s in %q is not listening on port %d", s.Name, s.Namespace, ptr.Deref(s.Port, defaultPort)))
	}
	if _, ok := apierrors.StatusCause(err, admission.CauseNoEndpointSlices); ok {
		return unavailable("EndpointsNotFound", fmt.Sprintf("cannot find endpointslices for service/%s in %q", s.Name, s.Namespace))
	}
	if cause, ok := apierrors.StatusCause(err, admission.CauseNoEndpoints); ok {
		return unavailable("MissingEndpoints", fmt.Sprintf("endpointslices for service/%s in %q have no addresses with port name %q", s.Name, s.Namespace, cause.Field))
	}
	return newCondition(apiregistrationv1.ConditionUnknown, "ServiceAccessError", fmt.Sprintf("service/%s in %q cannot be checked due to: %v", s.Name, s.Namespace, err))
}

// release closes the connections that no request needs.
func (e *endpoint) release() {
	if made := e.made.Load(); made != nil {
		utilnet.CloseIdleConnectionsFor(*made)
	}
}

// urlOf is a path on a server.
func urlOf(host, path string) string {
	location := url.URL{Scheme: "https", Host: host, Path: path}
	return location.String()
}
