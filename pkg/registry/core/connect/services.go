package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/proxy"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/endpointslice"
)

// LocateServices returns a Locator of services. The Locator picks a ready endpoint of the service at random, if
// possible with an address of the preferred family.
func LocateServices(services *registry.Storage, deps registry.Dependencies, transports *Transports, preferred corev1.IPFamily) (Locator, error) {
	l := serviceLocator{services: services, transport: transports.unverified(), preferred: preferred}
	endpointSlices, err := deps.StoreOf(discoveryv1.Resource("endpointslices"))
	if err != nil {
		return nil, err
	}
	endpoints, err := deps.StoreOf(corev1.Resource("endpoints"))
	if err != nil {
		return nil, err
	}
	pods, err := deps.StoreOf(corev1.Resource("pods"))
	if err != nil {
		return nil, err
	}
	l.endpointSlices, l.endpoints, l.pods = endpointSlices, endpoints, pods
	return l.locate, nil
}

type serviceLocator struct {
	services, endpoints, pods rest.Getter
	endpointSlices            rest.Lister
	transport                 http.RoundTripper
	preferred                 corev1.IPFamily
}

func (l serviceLocator) locate(ctx context.Context, id string) (*url.URL, http.RoundTripper, error) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	port, err := l.portName(ctx, name, port)
	if err != nil {
		return nil, nil, err
	}
	backends, err := l.slicesOf(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	host, err := proxy.RandomEndpoint(name, backends, port, l.preferred, func(e *discoveryv1.Endpoint) bool { return l.allowed(ctx, e) })
	if err != nil {
		return nil, nil, err
	}
	return &url.URL{Scheme: scheme, Host: host}, l.transport, nil
}

// portName returns the name of a port of a service. The argument "port" is the name or the number of the port. Only
// the number of a port needs the service: its endpoints have the name.
func (l serviceLocator) portName(ctx context.Context, name, port string) (string, error) {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return port, nil
	}
	found, err := l.services.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, p := range found.(*corev1.Service).Spec.Ports {
		if int64(p.Port) == number {
			return p.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
}

// slicesOf returns the EndpointSlices of a service. If a service has no EndpointSlices, slicesOf makes them from
// the service's Endpoints: in a cluster, a controller does this, and miniapi doesn't run that controller.
func (l serviceLocator) slicesOf(ctx context.Context, service string) ([]*discoveryv1.EndpointSlice, error) {
	found, err := l.endpointSlices.List(ctx, &internalversion.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}),
	})
	if err != nil {
		return nil, err
	}
	var all []*discoveryv1.EndpointSlice
	list := found.(*discoveryv1.EndpointSliceList)
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	if len(all) > 0 {
		return all, nil
	}
	found, err = l.endpoints.Get(ctx, service, &metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return endpointslice.Of(found.(*corev1.Endpoints)), nil
}

// allowed reports whether requests may go to an endpoint. Its address must be an IP address to which a proxy may
// connect: as in kube-apiserver, a host name is no address of a pod. If the endpoint has a targetRef, its name must be
// the name of a pod in the namespace of the request, and the pod must have the address. Unlike kube-apiserver, miniapi
// accepts endpoints without a targetRef, because in development users write endpoints by hand.
func (l serviceLocator) allowed(ctx context.Context, e *discoveryv1.Endpoint) bool {
	if len(e.Addresses) == 0 || !proxied(e.Addresses[0]) {
		return false
	}
	if e.TargetRef == nil {
		return true
	}
	if e.TargetRef.Namespace != genericapirequest.NamespaceValue(ctx) {
		return false
	}
	pod, err := GetPod(ctx, l.pods, e.TargetRef.Name)
	return err == nil && slices.Contains(PodIPs(pod), e.Addresses[0])
}
