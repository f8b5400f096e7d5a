// Package connect forwards requests to pods, services, nodes and the kubelets of nodes. The subresources of several
// kinds use it, such as pods/proxy. Don't use the package to read the objects themselves.
package connect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Locator returns the URL and the transport for the name in a proxy request. The name may have a scheme and a port,
// such as "https:name:port".
type Locator func(ctx context.Context, id string) (*url.URL, http.RoundTripper, error)

// ProxySubresource returns the subresource "proxy" of a resource. O is the type of the subresource's options, and
// path returns the path in the options. locate returns the Locator of the resource.
func ProxySubresource[O runtime.Object](path func(O) string, locate func(*registry.Storage, registry.Dependencies, *Transports) (Locator, error)) registry.Subresource {
	var options O
	newOptions := registry.NewOf(options)
	return registry.Subresource{Name: "proxy", Options: newOptions(), Storage: func(main *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
		transports := Transports{route: registry.PartOf[Kubelet](deps).Route}
		locate, err := locate(main, deps, &transports)
		if err != nil {
			return nil, err
		}
		return &proxyREST{
			locate: locate, transports: &transports,
			options: newOptions,
			path:    func(o runtime.Object) string { return path(o.(O)) },
		}, nil
	}}
}

// proxyREST serves pods/proxy, services/proxy and nodes/proxy.
type proxyREST struct {
	locate     Locator
	transports *Transports
	options    func() runtime.Object
	path       func(runtime.Object) string
}

var _ rest.Connecter = &proxyREST{}

func (r *proxyREST) New() runtime.Object { return r.options() }

// Destroy closes idle connections.
func (r *proxyREST) Destroy() { r.transports.closeIdleConnections() }

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

// LocatePods returns a Locator of pods. Its URLs have the address of a pod. The default port is the first port that
// the pod declares.
func LocatePods(pods *registry.Storage, _ registry.Dependencies, transports *Transports) (Locator, error) {
	return podLocator(pods, transports.unverified()), nil
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
		if !proxied(ip) {
			return nil, nil, apierrors.NewBadRequest(errNotProxied.Error())
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
func LocateNodes(_ *registry.Storage, deps registry.Dependencies, transports *Transports) (Locator, error) {
	kubelets, err := NewKubelets(deps)
	if err != nil {
		return nil, err
	}
	return nodeLocator(kubelets, transports)
}

func nodeLocator(kubelets Kubelets, transports *Transports) (Locator, error) {
	config, err := kubelets.tlsConfig()
	if err != nil {
		return nil, err
	}
	toKubelet, toPort := transports.with(config), transports.unverified()
	return func(ctx context.Context, id string) (*url.URL, http.RoundTripper, error) {
		scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
		if !valid {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
		}
		kubelet, err := kubelets.Of(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if err := checkHost(ctx, kubelet.Hostname()); err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		if port == "" || port == kubelet.Port() {
			return kubelet, toKubelet, nil
		}
		return &url.URL{Scheme: scheme, Host: net.JoinHostPort(kubelet.Hostname(), port)}, toPort, nil
	}, nil
}
