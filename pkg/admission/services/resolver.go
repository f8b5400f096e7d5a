package services

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/endpointslice"
)

// serviceLookupTimeout bounds the read of a service from the server, if the informer doesn't have it.
const serviceLookupTimeout = 5 * time.Second

// Resolver finds the address of a webhook's service. It looks in this order: in [Addresses], at the ExternalName of
// the service, and for a ready address in the service's EndpointSlices, or in its Endpoints if it has no
// EndpointSlices. The service default/kubernetes at port 443 is the server itself, or the cluster that the server is
// behind, unless Addresses has it. Resolver can't use the cluster IP, because the server has no service network.
type Resolver struct {
	addresses Addresses
	client    kubernetes.Interface
	services  corelisters.ServiceLister
	slices    discoverylisters.EndpointSliceLister
	endpoints corelisters.EndpointsLister
}

var _ webhook.ServiceResolver = &Resolver{}

// NewResolver returns a resolver that reads services, EndpointSlices and Endpoints from informers.
func NewResolver(addresses Addresses, client kubernetes.Interface, informers informers.SharedInformerFactory) *Resolver {
	return &Resolver{
		addresses: addresses,
		client:    client,
		services:  informers.Core().V1().Services().Lister(),
		slices:    informers.Discovery().V1().EndpointSlices().Lister(),
		endpoints: informers.Core().V1().Endpoints().Lister(),
	}
}

// ResolveEndpoint implements webhook.ServiceResolver.
func (r *Resolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if address, ok := r.addresses.find(namespace, name, port); ok {
		return &url.URL{Scheme: "https", Host: address}, nil
	}
	if isSelf(namespace, name, port) { // NewAuthentication needs no endpoints of it
		return &url.URL{Scheme: "https", Host: selfHostPort}, nil
	}
	service, err := r.service(namespace, name)
	if err != nil {
		return nil, err
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return &url.URL{Scheme: "https", Host: net.JoinHostPort(service.Spec.ExternalName, strconv.Itoa(int(port)))}, nil
	}
	for i := range service.Spec.Ports {
		if service.Spec.Ports[i].Port == port {
			host, err := r.endpoint(service, &service.Spec.Ports[i])
			if err != nil {
				return nil, err
			}
			return &url.URL{Scheme: "https", Host: host}, nil
		}
	}
	return nil, unavailable(CauseNoServicePort, "", fmt.Sprintf("no service port %d found for service %q", port, name))
}

// The causes in the error about a service that exists and has no usable address. Clients can compare them.
const (
	CauseNoServicePort    metav1.CauseType = "NoServicePort"
	CauseNoEndpointSlices metav1.CauseType = "NoEndpointSlices"
	// CauseNoEndpoints means that no ready endpoint has the port. The field of the cause is the name of the port.
	CauseNoEndpoints metav1.CauseType = "NoEndpoints"
)

func unavailable(cause metav1.CauseType, field, message string) error {
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: cause, Field: field}}}
	return err
}

// selfHostPort is an address that stands for the service default/kubernetes. NewAuthentication recognizes it.
const selfHostPort = "kubernetes.default.svc:443"

// isSelf reports whether a service is the API server that has the webhook configurations: this server, or the cluster that
// it is behind. Only port 443 of the service default/kubernetes is. The configuration of a webhook that is served as an
// aggregated API names this service and port.
func isSelf(namespace, name string, port int32) bool {
	return namespace == metav1.NamespaceDefault && name == "kubernetes" && port == 443
}

// service returns a service. If the informer doesn't have it, service reads it from the server: another server with
// the same etcd may have written it.
func (r *Resolver) service(namespace, name string) (*corev1.Service, error) {
	service, err := r.services.Services(namespace).Get(name)
	if !apierrors.IsNotFound(err) {
		return service, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), serviceLookupTimeout)
	defer cancel()
	if live, liveErr := r.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{}); liveErr == nil {
		return live, nil
	}
	return nil, err // the error reads: service "NAME" not found
}

// endpoint returns the host and port of one ready endpoint. It prefers the first address family of the service.
func (r *Resolver) endpoint(service *corev1.Service, port *corev1.ServicePort) (string, error) {
	slices, err := r.slicesOf(service)
	if err != nil {
		return "", err
	}
	if len(slices) == 0 {
		return "", unavailable(CauseNoEndpointSlices, "", fmt.Sprintf("no endpoints available for service %q", service.Name))
	}
	family := corev1.IPFamilyUnknown
	if len(service.Spec.IPFamilies) > 0 {
		family = service.Spec.IPFamilies[0]
	}
	host, err := proxy.RandomEndpoint(service.Name, slices, port.Name, family, func(endpoint *discoveryv1.Endpoint) bool {
		return len(endpoint.Addresses) > 0
	})
	if err != nil {
		return "", unavailable(CauseNoEndpoints, port.Name, err.Error())
	}
	return host, nil
}

// slicesOf returns the EndpointSlices of a service. If the service has none, slicesOf makes them from the service's
// Endpoints: in a cluster, a controller does this. Endpoints beside EndpointSlices don't count, because they may be
// older: a controller that writes EndpointSlices need not write Endpoints.
func (r *Resolver) slicesOf(service *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	slices, err := r.slices.EndpointSlices(service.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name}))
	if err != nil || len(slices) > 0 {
		return slices, err
	}
	endpoints, err := r.endpoints.Endpoints(service.Namespace).Get(service.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return endpointslice.Of(endpoints), nil
}
