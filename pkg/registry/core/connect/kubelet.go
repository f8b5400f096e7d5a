package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// defaultKubeletPort is the port of a kubelet whose Node has no port in its status.
const defaultKubeletPort = 10250

// Kubelet has the settings for connections to kubelets.
type Kubelet struct {
	// Transport sends requests to kubelets, with this server's credentials.
	Transport http.RoundTripper
	// AddressTypes are the types of node addresses to use, in the order of preference.
	AddressTypes []string
	// Route returns the address at which this machine reaches a port of a pod, which may be the pod's own. Route may be nil.
	Route func(address string) (string, error)
}

// Kubelets finds the addresses of kubelets, from their Nodes.
type Kubelets struct {
	Kubelet
	Nodes rest.Getter
}

// NewKubelets returns the Kubelets of the stored Nodes.
func NewKubelets(deps registry.Dependencies) (Kubelets, error) {
	nodes, err := deps.StoreOf(corev1.Resource("nodes"))
	if err != nil {
		return Kubelets{}, err
	}
	return Kubelets{Kubelet: registry.PartOf[Kubelet](deps), Nodes: nodes}, nil
}

// Of returns the URL of the kubelet of a node.
func (k Kubelets) Of(ctx context.Context, name string) (*url.URL, error) {
	found, err := k.Nodes.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	node := found.(*corev1.Node)
	host, err := k.address(node)
	if err != nil {
		return nil, err
	}
	port := node.Status.DaemonEndpoints.KubeletEndpoint.Port
	if port <= 0 {
		port = defaultKubeletPort
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}, nil
}

// address returns the address of a node. The node may have addresses of several types: address prefers the type
// that comes first in AddressTypes.
func (k Kubelets) address(node *corev1.Node) (string, error) {
	for _, preferred := range k.AddressTypes {
		for _, a := range node.Status.Addresses {
			if string(a.Type) == preferred {
				return a.Address, nil
			}
		}
		// An old Node has its host name in a label, because the address type Hostname didn't exist.
		if host := node.Labels[corev1.LabelHostname]; preferred == string(corev1.NodeHostName) && host != "" {
			return host, nil
		}
	}
	return "", fmt.Errorf("no preferred addresses found; known addresses: %v", node.Status.Addresses)
}

// Serving returns the URL of a path that the kubelet of a pod serves. The pod must have a node.
func (k Kubelets) Serving(ctx context.Context, pod *corev1.Pod, path string, query url.Values) (*url.URL, error) {
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	location, err := k.Of(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	location.Path, location.RawQuery = path, query.Encode()
	return location, nil
}

// Unverified returns a transport to kubelets that doesn't verify the kubelet's certificate.
func (k Kubelets) Unverified() (http.RoundTripper, error) {
	config, err := k.tlsConfig()
	if err != nil {
		return nil, err
	}
	config.InsecureSkipVerify = true
	dial, err := utilnet.DialerFor(k.Transport)
	if err != nil {
		return nil, fmt.Errorf("reading the dialer of the transport to kubelets: %w", err)
	}
	return utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: config, DialContext: dial}), nil
}

// tlsConfig returns a copy of the TLS configuration of the transport to kubelets.
func (k Kubelets) tlsConfig() (*tls.Config, error) {
	config, err := utilnet.TLSClientConfig(k.Transport)
	if err != nil {
		return nil, fmt.Errorf("reading the TLS configuration of the transport to kubelets: %w", err)
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return config.Clone(), nil
}
