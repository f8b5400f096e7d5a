// Package connect forwards requests to pods, services, nodes and the kubelets of nodes. The subresources of several
// kinds use it, such as pods/proxy. Don't use the package to read the objects themselves.
package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/proxy"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/endpointslice"
)

// Locator returns the URL and the transport for the name in a proxy request. The name may have a scheme and a port,
// such as "https:name:port".
type Locator func(ctx context.Context, id string) (*url.URL, http.RoundTripper, error)

// ProxySubresource returns the subresource "proxy" of a resource. O is the type of the subresource's options, and
// path returns the path in the options. locate returns the Locator of the resource.
func ProxySubresource[O runtime.Object](path func(O) string, locate func(*registry.Storage, registry.Dependencies, http.RoundTripper) (Locator, error)) registry.Subresource {
	var options O
	newOptions := registry.NewOf(options)
	return registry.Subresource{Name: "proxy", Options: newOptions(), Storage: func(main *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
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

// proxyTransport returns a transport to pods, to endpoints of services and to ports of nodes. It doesn't verify
// certificates, because a pod has no certificate for its address.
func proxyTransport() *http.Transport {
	return utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
}

// proxyREST serves pods/proxy, services/proxy and nodes/proxy.
type proxyREST struct {
	locate    Locator
	transport *http.Transport
	options   func() runtime.Object
	path      func(runtime.Object) string
}

var _ rest.Connecter = &proxyREST{}

func (r *proxyREST) New() runtime.Object { return r.options() }

// Destroy closes idle connections.
func (r *proxyREST) Destroy() { r.transport.CloseIdleConnections() }

// ConnectMethods returns the HTTP methods that the proxy forwards.
func (r *proxyREST) ConnectMethods() []string {
	return []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodHead, http.MethodOptions,
	}
}

// NewConnectOptions returns empty options. k8s.io/apiserver sets their field "path" to the part of the URL after
// "/proxy".
func (r *proxyREST) NewConnectOptions() (runtime.Object, bool, string) {
	return r.options(), true, "path"
}

// Connect returns a handler that forwards a request. The handler rewrites redirects, and the links of an HTML response,
// so that they lead through the proxy too.
func (r *proxyREST) Connect(ctx context.Context, id string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	location, transport, err := r.locate(ctx, id)
	if err != nil {
		return nil, err
	}
	location.Path = utilnet.JoinPreservingTrailingSlash(location.Path, r.path(options))
	return utilproxy.NewUpgradeAwareHandler(location, transport, true, false, utilproxy.NewErrorResponder(responder)), nil
}

// UpgradeHandler returns a handler that forwards only requests for an upgraded connection.
func UpgradeHandler(location *url.URL, transport http.RoundTripper, responder rest.Responder) http.Handler {
	return utilproxy.NewUpgradeAwareHandler(location, transport, false, true, utilproxy.NewErrorResponder(responder))
}

// checkProxied refuses addresses to which a proxy must not connect, such as link-local addresses. Unlike
// kube-apiserver, it allows loopback addresses: in development, servers on this machine stand in for pods and
// nodes.
func checkProxied(address string) error {
	if ip := netutils.ParseIPSloppy(address); ip == nil || !ip.IsGlobalUnicast() && !ip.IsLoopback() {
		return errors.New("address not allowed")
	}
	return nil
}

// LocatePods returns a Locator of pods. Its URLs have the address of a pod. The default port is the first port that
// the pod declares.
func LocatePods(pods *registry.Storage, _ registry.Dependencies, transport http.RoundTripper) (Locator, error) {
	return podLocator(pods, transport), nil
}

func podLocator(pods rest.Getter, transport http.RoundTripper) Locator {
	return func(ctx context.Context, id string) (*url.URL, http.RoundTripper, error) {
		scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
		if !valid {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", id))
		}
		pod, err := GetPod(ctx, pods, name)
		if err != nil {
			return nil, nil, err
		}
		if port == "" {
			port = firstPort(&pod.Spec)
		}
		ip := slices.Concat(PodIPs(pod), []string{""})[0]
		if err := checkProxied(ip); err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		return &url.URL{Scheme: scheme, Host: joinHostPort(ip, port)}, transport, nil
	}
}

func firstPort(spec *corev1.PodSpec) string {
	for i := range spec.Containers {
		if ports := spec.Containers[i].Ports; len(ports) > 0 {
			return strconv.Itoa(int(ports[0].ContainerPort))
		}
	}
	return ""
}

// joinHostPort is like net.JoinHostPort, but the port is optional.
func joinHostPort(ip, port string) string {
	switch {
	case port != "":
		return net.JoinHostPort(ip, port)
	case strings.Contains(ip, ":"):
		return "[" + ip + "]"
	}
	return ip
}

// LocateNodes returns a Locator of nodes. With the port of the kubelet, or without a port, the Locator returns the
// kubelet's URL. With another port, the Locator returns a URL on the node's address.
func LocateNodes(_ *registry.Storage, deps registry.Dependencies, transport http.RoundTripper) (Locator, error) {
	kubelets, err := NewKubelets(deps)
	if err != nil {
		return nil, err
	}
	return nodeLocator(kubelets, transport), nil
}

func nodeLocator(kubelets Kubelets, transport http.RoundTripper) Locator {
	return func(ctx context.Context, id string) (*url.URL, http.RoundTripper, error) {
		scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
		if !valid {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
		}
		kubelet, err := kubelets.Of(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if port == "" || port == kubelet.Port() {
			return kubelet, kubelets.Transport, nil
		}
		if err := checkProxiedHost(ctx, kubelet.Hostname()); err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		return &url.URL{Scheme: scheme, Host: net.JoinHostPort(kubelet.Hostname(), port)}, transport, nil
	}
}

// checkProxiedHost checks that a proxy may connect to every address of a host.
func checkProxiedHost(ctx context.Context, host string) error {
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("no addresses for hostname")
	}
	for _, a := range addresses {
		if err := checkProxied(a.IP.String()); err != nil {
			return err
		}
	}
	return nil
}

// LocateServices returns a Locator of services. The Locator picks a ready endpoint of the service at random.
func LocateServices(services *registry.Storage, deps registry.Dependencies, transport http.RoundTripper) (Locator, error) {
	l := serviceLocator{services: services, transport: transport}
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
}

func (l serviceLocator) locate(ctx context.Context, id string) (*url.URL, http.RoundTripper, error) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	found, err := l.services.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	service := found.(*corev1.Service)
	if port, err = portName(service, port); err != nil {
		return nil, nil, err
	}
	backends, err := l.slicesOf(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	family := corev1.IPFamilyUnknown
	if len(service.Spec.IPFamilies) > 0 {
		family = service.Spec.IPFamilies[0]
	}
	host, err := proxy.RandomEndpoint(name, backends, port, family, func(e *discoveryv1.Endpoint) bool { return l.allowed(ctx, e) })
	if err != nil {
		return nil, nil, err
	}
	return &url.URL{Scheme: scheme, Host: host}, l.transport, nil
}

// portName returns the name of a service port. The argument "port" is the name or the number of the port.
func portName(service *corev1.Service, port string) (string, error) {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return port, nil
	}
	for _, p := range service.Spec.Ports {
		if int64(p.Port) == number {
			return p.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, service.Name))
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
		// kube-apiserver has the same text for a service that has never had endpoints.
		return nil, apierrors.NewNotFound(corev1.Resource("services"), service)
	case err != nil:
		return nil, err
	}
	return endpointslice.Of(found.(*corev1.Endpoints)), nil
}

// allowed reports whether requests may go to an endpoint. An IP address must be one to which a proxy may connect. If
// the endpoint has a targetRef, its name must be the name of a pod in the namespace of the request, and the pod must
// have the address. Unlike kube-apiserver, miniapi accepts endpoints without a targetRef, because in development users
// write endpoints by hand.
func (l serviceLocator) allowed(ctx context.Context, e *discoveryv1.Endpoint) bool {
	if len(e.Addresses) == 0 || netutils.ParseIPSloppy(e.Addresses[0]) != nil && checkProxied(e.Addresses[0]) != nil {
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
