package trial

import (
	"fmt"
	"net"
	"net/http"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/incluster"
)

const (
	// DefaultPort is the port of a service reference without a port.
	DefaultPort int32 = 443
	// OtherPort is a port that isn't the default port.
	OtherPort int32 = 8444
)

// Service is a Service of a case. The server calls the case's webhooks through the Service.
type Service struct {
	t    *T
	name string
	// Port is the port of the Service. If the Service has the type ExternalName, Port is the port at which the webhooks
	// listen.
	Port int32
}

// serviceWay describes the Service and the endpoints through which a server reaches the webhooks of the suite.
type serviceWay struct {
	// addresses and port are the endpoints of the Service, and kind is the type of the addresses. If external isn't
	// empty, the Service has no endpoints: it has the type ExternalName, and external is the external name.
	kind      discoveryv1.AddressType
	addresses []string
	port      int32
	external  string
	// missing is the reason why the server can't reach the suite through a Service, or "".
	missing string
}

// Service creates a Service that leads to the suite's webhooks, and a certificate for the Service. If the server can't
// reach the suite through a Service, the case is skipped.
func (t *T) Service(name string, port int32) *Service {
	s := t.UncertifiedService(name, port)
	if err := t.Server.hooks.Certify(s.Host()); err != nil {
		t.fatal("a certificate can be made", err)
	}
	return s
}

// UncertifiedService creates a Service like the method Service, but without a certificate.
func (t *T) UncertifiedService(name string, port int32) *Service {
	server := t.Server
	server.findWay.Do(func() {
		server.way = serviceWay{missing: "the first case with a Service failed before it found out whether the server reaches the suite through a Service"}
		server.way = t.wayByService()
	})
	if server.way.missing != "" {
		t.Skip(server.way.missing)
	}
	return t.serviceBy(&server.way, name, port)
}

// Host is the name that the certificate of the webhook must have.
func (s *Service) Host() string { return incluster.HostOf(s.t.name, s.name) }

// Calls makes the server call a hook through the Service, at a path. If path is empty, the service reference has no
// path.
func (s *Service) Calls(h *Hook, path string) {
	reference := &admissionregistrationv1.ServiceReference{Namespace: s.t.name, Name: s.name}
	if path != "" {
		reference.Path = &path
	}
	if s.Port != DefaultPort {
		reference.Port = &s.Port
	}
	if path == "" {
		path = "/"
	}
	s.t.program(s.Host()+path, h)
	h.ClientConfig = admissionregistrationv1.WebhookClientConfig{Service: reference, CABundle: s.t.Server.hooks.CABundle()}
}

// Refer makes the server call a hook through a Service with this name. The Service may be missing.
func (t *T) Refer(h *Hook, name string, port int32) {
	h.ClientConfig = admissionregistrationv1.WebhookClientConfig{CABundle: t.Server.hooks.CABundle(),
		Service: &admissionregistrationv1.ServiceReference{Namespace: t.Namespace(), Name: name, Port: &port}}
}

// BareService creates a Service of one port without endpoints.
func (t *T) BareService(name string, port int32) {
	t.create(Services, name, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhooks", Port: port}}})
}

// create creates an object of the case with a spec.
func (t *T) create(r Resource, name string, spec any) {
	o := t.Object(r, name)
	o["spec"] = spec
	t.Create(r, o.Copy()).OK()
}

// serviceBy creates a Service that leads to the webhooks, with endpoints or with an external name. Behind an external
// name, the port is always the port at which the webhooks listen. If this port isn't DefaultPort but the case needs
// DefaultPort, the case is skipped.
func (t *T) serviceBy(way *serviceWay, name string, port int32) *Service {
	if way.external != "" {
		if port == DefaultPort && way.port != DefaultPort {
			t.Skip(fmt.Sprintf("the server reaches the webhooks only through a Service with an external name, at port %d: --webhook-address must have the port %d", way.port, DefaultPort))
		}
		t.create(Services, name, corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: way.external})
		return &Service{t: t, name: name, Port: way.port}
	}
	t.BareService(name, port)
	t.Create(EndpointSlices, t.endpointSlice(way, name)).OK()
	return &Service{t: t, name: name, Port: port}
}

func (t *T) endpointSlice(way *serviceWay, service string) Object {
	o := t.Object(EndpointSlices, service).WithLabel(discoveryv1.LabelServiceName, service).WithLabel(discoveryv1.LabelManagedBy, "conformance.miniapi.dev")
	o["addressType"] = way.kind
	o["endpoints"] = []any{Object{"addresses": way.addresses, "conditions": Object{"ready": true}}}
	o["ports"] = []any{Object{"name": "webhooks", "port": way.port, "protocol": "TCP"}}
	return o.Copy()
}

// wayByService returns a way in which a Service can lead to the webhooks: by endpoints, or by an external name if the
// server refuses the endpoints. It tries the way, because a server outside of a cluster may not reach the endpoints of
// Services.
func (t *T) wayByService() serviceWay {
	if cluster := t.Server.inCluster; cluster != nil {
		kind, addresses, err := cluster.Addresses(t.Context())
		if err != nil {
			t.fatal("the webhooks in the cluster have endpoints", err)
		}
		return serviceWay{kind: kind, addresses: addresses, port: incluster.Port}
	}
	host, port, err := net.SplitHostPort(t.Server.hooks.Address())
	if err != nil {
		t.fatal("the webhooks have an address", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.fatal("the webhooks have a port", err)
	}
	way := serviceWay{port: int32(number), external: host}
	if ip := net.ParseIP(host); ip != nil {
		way.kind = discoveryv1.AddressTypeIPv6
		if ip.To4() != nil {
			way.kind = discoveryv1.AddressTypeIPv4
		}
		way.addresses = []string{host}
		// Try the endpoints by a dry run, because some servers refuse endpoints with a loopback address.
		if t.Create(EndpointSlices, t.endpointSlice(&way, "way"), "dryRun=All").Succeeded() {
			way.external = ""
		}
	}
	way.missing = t.tryWay(&way)
	return way
}

// tryWay returns the reason why the server can't call a hook through a Service, or "".
func (t *T) tryWay(way *serviceWay) string {
	service := t.serviceBy(way, "way", OtherPort)
	if err := t.Server.hooks.Certify(service.Host()); err != nil {
		t.fatal("a certificate can be made", err)
	}
	hook := Validating("way", Deny(http.StatusTeapot, "arrived"), Within(2), On("CREATE", Secrets))
	service.Calls(hook, "/way")
	t.Install(hook)
	defer t.Forget()
	if a := t.Create(Secrets, t.Object(Secrets, "way"), "dryRun=All"); a.Code != http.StatusTeapot {
		return "the server doesn't reach the suite through a Service: " + a.says()
	}
	return ""
}
