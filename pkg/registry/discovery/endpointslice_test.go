package discovery

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestEndpointSliceColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name:   "named and open ports",
			Reason: "a port without a number is shown by its name, or as * without a name; the addresses of all endpoints count",
			Object: &discoveryv1.EndpointSlice{
				ObjectMeta: registrytest.MonthOld("x"), AddressType: discoveryv1.AddressTypeIPv4,
				Ports:     []discoveryv1.EndpointPort{{Port: ptr.To[int32](80)}, {Name: ptr.To("dns")}, {}},
				Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"a", "b"}}, {Addresses: []string{"c", "d"}}},
			},
			Want: []any{"x", "IPv4", "80,dns,*", "a,b,c + 1 more...", "30d"},
		},
	})
}

func TestEndpointSliceErrors(t *testing.T) {
	t.Parallel()
	slice := func(family discoveryv1.AddressType, address string, change func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: registrytest.Stored("s"), AddressType: family,
			Ports:     []discoveryv1.EndpointPort{{Name: ptr.To("p"), Port: ptr.To[int32](70000), Protocol: ptr.To(corev1.ProtocolTCP)}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
		}
		change(s)
		return s
	}
	unchanged := func(*discoveryv1.EndpointSlice) {}
	var zones []discoveryv1.ForZone
	for range 9 {
		zones = append(zones, discoveryv1.ForZone{Name: "z"})
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "port number", Reason: "kube-apiserver doesn't check the number of a port",
			Object: slice(discoveryv1.AddressTypeIPv6, "2001:db8::1", unchanged),
		},
		{
			Name: "IPv6 address in another form", Reason: "an IPv6 address is in canonical form",
			Object: slice(discoveryv1.AddressTypeIPv6, "2001:DB8::1", unchanged),
			Want:   []string{`endpoints[0].addresses[0]: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")`},
		},
		{
			Name: "stored endpoints", Reason: "an update that keeps the endpoints doesn't check them",
			Object: slice(discoveryv1.AddressTypeIPv6, "2001:DB8::1", unchanged),
			Old:    slice(discoveryv1.AddressTypeIPv6, "2001:DB8::1", unchanged),
		},
		{
			Name: "ports and endpoints", Reason: "ports are checked before endpoints, and too many hints get a single error",
			Object: slice(discoveryv1.AddressTypeIPv4, "2001:db8::1", func(s *discoveryv1.EndpointSlice) {
				s.Ports[0].Protocol = ptr.To(corev1.Protocol("X"))
				s.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: zones, ForNodes: []discoveryv1.ForNode{{Name: "A"}}}
			}),
			Want: []string{
				`ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
				`endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address`,
				"endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
			},
		},
	})
}

func TestEndpointSliceWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "FQDN", Reason: "only a create gets the warning, since the address type can't change",
			Object: &discoveryv1.EndpointSlice{
				AddressType: discoveryv1.AddressTypeFQDN, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"example.com"}}},
			},
			Want: []string{"spec.addressType: FQDN endpoints are deprecated"},
		},
		{
			Name: "of the controller", Reason: "the endpoint slice controller writes canonical addresses only",
			Object: &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}},
				AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"::A"}}},
			},
		},
	})
}

func TestEndpointSliceCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "topology", Reason: "v1 has no field for the topology of v1beta1",
			Object: &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{DeprecatedTopology: map[string]string{"kubernetes.io/hostname": "n"}}}},
			Want:   &discoveryv1.EndpointSlice{ObjectMeta: registrytest.Generation(1), Endpoints: []discoveryv1.Endpoint{{}}},
		},
	})
}

func TestEndpointSliceGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, Group), []registrytest.GenerationCase{
		{
			Name: "label", Reason: "a label names the service of the slice, so a change increases the generation",
			Object: &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Generation: 4, Labels: map[string]string{"a": "b"}}},
			Old:    &discoveryv1.EndpointSlice{ObjectMeta: registrytest.Generation(4)},
			Want:   5,
		},
	})
}
