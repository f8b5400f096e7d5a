package connect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func echo(w http.ResponseWriter, req *http.Request) { _, _ = fmt.Fprint(w, req.Method, " ", req.URL) }

// serving returns the storage of a proxy subresource that uses a Locator.
func serving(t *testing.T, locate func(*Transports) Locator) *proxyREST {
	t.Helper()
	transports := &Transports{}
	t.Cleanup(transports.closeIdleConnections)
	return &proxyREST{
		locate: locate(transports), transports: transports,
		options: func() runtime.Object { return &corev1.PodProxyOptions{} },
		path:    func(o runtime.Object) string { return o.(*corev1.PodProxyOptions).Path },
	}
}

func TestPodProxy(t *testing.T) {
	t.Parallel()
	plain, secure := httptest.NewServer(http.HandlerFunc(echo)), httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	host, port := registrytest.Address(t, plain)
	_, securePort := registrytest.Address(t, secure)
	p := registrytest.PodOnNode("p", "first", "second")
	p.Status.PodIP = host
	p.Spec.Containers[1].Ports = []corev1.ContainerPort{{ContainerPort: port}}
	linkLocal := registrytest.PodOnNode("link-local", "c")
	linkLocal.Status.PodIPs = []corev1.PodIP{{IP: "169.254.169.254"}}
	server := registrytest.Connected(t, serving(t, func(transports *Transports) Locator {
		return podLocator(registrytest.Known{"p": p, "link-local": linkLocal, "homeless": registrytest.PodOnNode("homeless", "c")}, transports.unverified())
	}))
	closed := registrytest.ClosedPort(t)
	for _, test := range []struct {
		name, reason, method, path, want string
	}{
		{"first port", "a pod's first declared port is its default", "GET", "/p/a/b?q=1", "200 GET /a/b?q=1"},
		{"method and slash", "the request arrives as it was made", "DELETE", "/p/a/", "200 DELETE /a/"},
		{"https", "the certificate is for a name, and the pod is called by its address", "GET",
			fmt.Sprintf("/https:p:%d/x", securePort), "200 GET /x"},
		{"closed port", "an unreachable pod is not an error of the caller", "GET", fmt.Sprintf("/p:%d/x", closed),
			fmt.Sprintf("503 error trying to reach service: dial tcp 127.0.0.1:%d: connect: connection refused", closed)},
		{"link-local", "a link-local address does not belong to a single pod", "GET", "/link-local:80/x", "400 address not allowed"},
		{"no address", "the pod isn't running", "GET", "/homeless/x", "400 address not allowed"},
		{"bad scheme", "only HTTP is proxied", "GET", "/ftp:p:1/x", `400 invalid pod request "ftp:p:1"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := registrytest.Respond(t, test.method, server.URL+test.path); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
}

func TestNodeProxy(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(other.Close)
	_, otherPort := registrytest.Address(t, other)
	server := registrytest.Connected(t, serving(t, func(transports *Transports) Locator {
		kubelets := kubeletsOf(t, echo)
		for name, address := range map[string]string{
			"link-local": "169.254.169.254", "mapped": "::ffff:169.254.169.254", "multicast": "224.0.0.1", "unspecified": "0.0.0.0",
		} {
			kubelets.Nodes.(registrytest.Known)[name] = &corev1.Node{Status: corev1.NodeStatus{
				Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
			}}
		}
		locate, err := nodeLocator(kubelets, transports)
		if err != nil {
			t.Fatal(err)
		}
		return locate
	}))
	for _, test := range []struct{ name, reason, path, want string }{
		{"kubelet", "without a port, the request goes to the kubelet, with the transport for kubelets", "/n/logs/", "200 GET /logs/"},
		{"another port", "another port of the node doesn't belong to the kubelet",
			fmt.Sprintf("/n:%d/metrics", otherPort), "200 GET /metrics"},
		{"unknown node", "the object of the node has the address", "/nope/x", `404 things "nope" not found`},
		{"link-local", "a link-local address does not belong to a single node", "/link-local:80/x", "400 address not allowed"},
		{"kubelet at a link-local address", "the kubelet's port makes the address no better", "/link-local/x", "400 address not allowed"},
		{"the port of the kubelet", "the port of a kubelet may be named", "/link-local:10250/x", "400 address not allowed"},
		{"mapped", "an IPv4 address can be written as an IPv6 address", "/mapped/x", "400 address not allowed"},
		{"multicast", "a multicast address belongs to no node", "/multicast/x", "400 address not allowed"},
		{"unspecified", "0.0.0.0 is this machine, under a name that a check of loopback misses", "/unspecified/x",
			"400 address not allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := registrytest.Respond(t, "GET", server.URL+test.path); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
}

func TestServiceProxy(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	host, port := registrytest.Address(t, server)

	service := func(name string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "web", Port: 80}}},
		}
	}
	slice := func(service string, endpoints ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
			Ports: []discoveryv1.EndpointPort{{Name: ptr.To("web"), Port: &port}},
		}
	}
	at := func(target string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{host}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: target}}
	}
	here, elsewhere := registrytest.PodOnNode("here"), registrytest.PodOnNode("elsewhere")
	here.Status.PodIP, elsewhere.Status.PodIP = host, "10.1.2.3"
	unready := discoveryv1.Endpoint{Addresses: []string{"127.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}}

	l := serviceLocator{
		services: registrytest.Known{
			"sliced": service("sliced"), "classic": service("classic"), "bare": service("bare"),
			"owned": service("owned"), "mismatched": service("mismatched"),
		},
		pods: registrytest.Known{"here": here, "elsewhere": elsewhere},
		endpoints: registrytest.Known{"classic": &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: host}}, Ports: []corev1.EndpointPort{{Name: "web", Port: port}},
		}}}},
		endpointSlices: registrytest.KnownSlices{
			slice("sliced", unready, discoveryv1.Endpoint{Addresses: []string{host}}),
			slice("owned", at("here")), slice("mismatched", at("elsewhere")),
			slice("link-local", discoveryv1.Endpoint{Addresses: []string{"169.254.169.254"}}),
			slice("named", discoveryv1.Endpoint{Addresses: []string{"localhost"}}),
		},
	}
	front := registrytest.Connected(t, serving(t, func(transports *Transports) Locator {
		l.transport = transports.unverified()
		return l.locate
	}))
	for _, test := range []struct{ name, reason, path, want string }{
		{"by name", "a ready endpoint gets the request", "/sliced:web/x", "200 GET /x"},
		{"by number", "the name of a service's port leads to the ports of its endpoints", "/sliced:80/x", "200 GET /x"},
		{"Endpoints", "endpoints written by hand may be of the old kind", "/http:classic:web/x", "200 GET /x"},
		{"pod", "the pod that the endpoint names has the address", "/owned:web/x", "200 GET /x"},
		{"another pod's address", "an endpoint must not lend a pod an address that isn't its own", "/mismatched:web/x",
			`503 no endpoints available for service "mismatched"`},
		{"no endpoints", "nothing has ever stood behind the service", "/bare:web/x", `503 no endpoints available for service "bare"`},
		{"no endpoints, by number", "the service has the port", "/bare:80/x", `503 no endpoints available for service "bare"`},
		{"link-local", "a link-local address does not belong to a single pod", "/link-local:web/x",
			`503 no endpoints available for service "link-local"`},
		{"host name", "a name can lead anywhere, and no pod has a name as its address", "/named:web/x",
			`503 no endpoints available for service "named"`},
		{"unnamed port", "no endpoint has a port without a name", "/sliced/x", `503 no endpoints available for service "sliced"`},
		{"unknown number", "the service has no port with this number", "/sliced:81/x",
			`503 no service port 81 found for service "sliced"`},
		{"no service", "kube-apiserver looks for endpoints only", "/nope/x", `503 no endpoints available for service "nope"`},
		{"no service, by name", "the endpoints have the names of ports", "/https:nope:web/x",
			`503 no endpoints available for service "nope"`},
		{"no service, by number", "the service has the numbers of its ports", "/nope:80/x", `404 things "nope" not found`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := registrytest.Respond(t, "GET", front.URL+test.path); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
}

// TestProxyChecksConnections checks that a proxy refuses an address for which a name has changed since the name was
// checked.
func TestProxyChecksConnections(t *testing.T) {
	t.Parallel()
	server := registrytest.Connected(t, serving(t, func(transports *Transports) Locator {
		transport := transports.unverified()
		transports.made[0].Proxy = nil // of the test's environment
		return func(context.Context, string) (*url.URL, http.RoundTripper, error) {
			return &url.URL{Scheme: "http", Host: "169.254.169.254:80"}, transport, nil
		}
	}))
	for _, test := range []struct{ name, reason, upgrade string }{
		{"request", "a request is sent by the transport", ""},
		{"upgrade", "an upgraded connection is dialled outside the transport", "websocket"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/p/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.upgrade != "" {
				req.Header.Set("Connection", "Upgrade")
				req.Header.Set("Upgrade", test.upgrade)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if want := "dial tcp 169.254.169.254:80: address not allowed"; !strings.Contains(string(body), want) {
				t.Errorf("%s: got %d %s, want %s", test.reason, resp.StatusCode, body, want)
			}
		})
	}
}

func TestProxyRewritesLinks(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<a href="/next">`)
	}))
	t.Cleanup(backend.Close)
	host, port := registrytest.Address(t, backend)
	p := registrytest.PodOnNode("p", "c")
	p.Status.PodIP = host
	server := registrytest.Connected(t, serving(t, func(transports *Transports) Locator {
		return podLocator(registrytest.Known{"p": p}, transports.unverified())
	}))
	name := fmt.Sprintf("/p:%d", port)
	if got, want := registrytest.Respond(t, "GET", server.URL+name+"/page"), name+"/next"; !strings.Contains(got, want) {
		t.Errorf("a link in a page has to lead through the proxy again: %s, want %s", got, want)
	}
}
