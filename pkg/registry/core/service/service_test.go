package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/coordination"
	"github.com/miniapi-dev/miniapi/pkg/registry/discovery"
	"github.com/miniapi-dev/miniapi/pkg/registry/networking"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// services has the storage of services and the other storages that a service needs, on one server. All services are in
// the namespace "ns".
type services struct {
	*serviceStorage
	t   *testing.T
	ctx context.Context
}

// table returns a table with the kind Service, and with the other kinds that its storage and its subresources use.
var table = sync.OnceValue(func() *registry.Table {
	core := registry.Group{
		Versions: []registry.Version{{Name: "v1", AddToScheme: corev1.AddToScheme}},
		Kinds: []registry.Kind{
			Kind,
			{Resource: "endpoints", Namespaced: true, Object: &corev1.Endpoints{}, List: &corev1.EndpointsList{}},
			{Resource: "pods", Namespaced: true, Object: &corev1.Pod{}, List: &corev1.PodList{}},
		},
	}
	table, err := registry.NewTable(core, networking.Group, coordination.Group, discovery.Group)
	utilruntime.Must(err)
	return table
})

func newServices(t *testing.T, member *storage.Member, cidrs ...string) services {
	t.Helper()
	network := Network{NodePorts: utilnet.PortRange{Base: 30000, Size: 40}}
	for _, cidr := range cidrs {
		_, n, err := net.ParseCIDR(cidr)
		if err != nil {
			t.Fatal(err)
		}
		network.ClusterIPs = append(network.ClusterIPs, n)
	}
	stores := registrytest.On(t, member, table(), registry.Dependencies{Parts: []any{network}})
	return services{stores.Storage(corev1.Resource("services"), "services").(*serviceStorage), t, stores.Context}
}

func (s services) create(service *corev1.Service, dryRun ...string) (*corev1.Service, error) {
	table().Scheme().Default(service)
	obj, err := s.Create(s.ctx, service, rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Service), nil
}

func (s services) mustCreate(service *corev1.Service) *corev1.Service {
	s.t.Helper()
	created, err := s.create(service)
	if err != nil {
		s.t.Fatal(err)
	}
	return created
}

// update changes a service like a patch: the change begins with the stored object.
func (s services) update(name string, change func(*corev1.Service), validate rest.ValidateObjectUpdateFunc) (*corev1.Service, error) {
	obj, _, err := s.Update(s.ctx, name, rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		service := old.DeepCopyObject().(*corev1.Service)
		change(service)
		table().Scheme().Default(service)
		return service, nil
	}), rest.ValidateAllObjectFunc, validate, false, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Service), nil
}

func (s services) delete(name string) {
	s.t.Helper()
	if _, _, err := s.Delete(s.ctx, name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// held returns the reserved addresses and ports, sorted.
func (s services) held() []string {
	s.t.Helper()
	list, err := s.allocator.ips.ledger.(addressLedger).addresses.List(context.Background(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var keys []string
	for _, address := range list.(*networkingv1.IPAddressList).Items {
		keys = append(keys, address.Name)
	}
	for port := range s.allocator.ports.candidates() {
		entry, err := s.portStore.get(context.Background(), port, false)
		if err != nil {
			s.t.Fatal(err)
		}
		if entry != nil {
			keys = append(keys, port)
		}
	}
	slices.Sort(keys)
	return keys
}

// holdings returns the addresses and ports that services have, sorted.
func holdings(services ...*corev1.Service) []string {
	var keys []string
	for _, s := range services {
		keys = append(keys, s.Spec.ClusterIPs...)
		for _, port := range nodePortsOf(s) {
			keys = append(keys, fmt.Sprint(port))
		}
		if port := s.Spec.HealthCheckNodePort; port != 0 {
			keys = append(keys, fmt.Sprint(port))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (s services) wantHeld(reason string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.held()); diff != "" {
		s.t.Errorf("%s: held (-want +got):\n%s", reason, diff)
	}
}

func service(name string, serviceType corev1.ServiceType, change ...func(*corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: serviceType, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	for _, c := range change {
		c(&s.Spec)
	}
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	return s
}

func TestServiceCreateRefused(t *testing.T) {
	t.Parallel()
	s := newServices(t, registrytest.Start(t), "10.0.0.0/24")
	s.mustCreate(service("taken", corev1.ServiceTypeNodePort, func(spec *corev1.ServiceSpec) {
		spec.ClusterIP, spec.Ports[0].NodePort = "10.0.0.7", 30007
	}))
	held := s.held()
	for _, test := range []struct {
		name, reason string
		service      *corev1.Service
		want         string
	}{
		{"address taken", "an address has one service", service("a", "ClusterIP", func(spec *corev1.ServiceSpec) { spec.ClusterIP = "10.0.0.7" }),
			`Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: provided IP is already allocated`},
		{"broadcast", "no service can have the broadcast address", service("a", "ClusterIP", func(spec *corev1.ServiceSpec) { spec.ClusterIP = "10.0.0.255" }),
			`Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.255"]: failed to allocate IP 10.0.0.255: the provided network does not match the current range`},
		{"no address", "the server refuses a malformed address before it allocates anything", service("a", "NodePort", func(spec *corev1.ServiceSpec) { spec.ClusterIP = "x" }),
			`Service "a" is invalid: spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"other family", "the server has no range of this family", service("a", "ClusterIP", func(spec *corev1.ServiceSpec) { spec.IPFamilies = []corev1.IPFamily{"IPv6"} }),
			`Service "a" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
		{"port taken", "a node port has one service, and the address is given back", service("a", "NodePort", func(spec *corev1.ServiceSpec) { spec.Ports[0].NodePort = 30007 }),
			`Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated`},
		{"port out of range", "only the range is handed out", service("a", "NodePort", func(spec *corev1.ServiceSpec) { spec.Ports[0].NodePort = 30040 }),
			`Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 30040: provided port is not in the valid range. The range of valid ports is 30000-30039`},
		{"port twice", "two service ports can't have the same node port", service("a", "NodePort", func(spec *corev1.ServiceSpec) {
			spec.Ports = []corev1.ServicePort{{Name: "a", Port: 1, NodePort: 30009}, {Name: "b", Port: 2, NodePort: 30009}}
		}), `Service "a" is invalid: spec.ports[1].nodePort: Invalid value: 30009: provided port is already allocated`},
		{"no name", "a service without a name has all other fields", service("", "LoadBalancer", func(spec *corev1.ServiceSpec) { spec.ExternalTrafficPolicy = "Local" }),
			`Service "" is invalid: metadata.name: Required value: name or generateName is required`},
		{"invalid otherwise", "validation comes after allocation", service("a", "NodePort", func(spec *corev1.ServiceSpec) { spec.SessionAffinity = "x" }),
			`Service "a" is invalid: spec.sessionAffinity: Unsupported value: "x": supported values: "ClientIP", "None"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := s.create(test.service)
			if err == nil || err.Error() != test.want {
				t.Errorf("%s\n got %v\nwant %s", test.reason, err, test.want)
			}
			s.wantHeld("nothing more is held than before", held...)
		})
	}
}

func TestServiceTypes(t *testing.T) {
	t.Parallel()
	s := newServices(t, registrytest.Start(t), "10.0.0.0/24", "fd00::/112")
	s.mustCreate(service("a", corev1.ServiceTypeLoadBalancer, func(spec *corev1.ServiceSpec) {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		spec.Ports = []corev1.ServicePort{
			{Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP},
			{Name: "tcp", Port: 53, Protocol: corev1.ProtocolTCP}, {Name: "web", Port: 80},
		}
	}))
	for _, step := range []struct {
		name, reason     string
		change           func(*corev1.ServiceSpec)
		ips, nodes, held int
	}{
		{"as created", "DNS over UDP and TCP share a port, and the health check has a port of its own",
			func(*corev1.ServiceSpec) {}, 1, 3, 4},
		{"sent again", "a manifest without what was allocated changes nothing", func(spec *corev1.ServiceSpec) {
			spec.ClusterIP, spec.ClusterIPs, spec.HealthCheckNodePort, spec.IPFamilies, spec.IPFamilyPolicy = "", nil, 0, nil, nil
			for i := range spec.Ports {
				spec.Ports[i].NodePort = 0
			}
		}, 1, 3, 4},
		{"dual stack", "the second address is of the other family",
			func(spec *corev1.ServiceSpec) { spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack) }, 2,
			3, 5},
		{"single stack", "the second address is released",
			func(spec *corev1.ServiceSpec) { spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack) }, 1, 3, 4},
		{"NodePort", "load balancers do not check its health",
			func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeNodePort }, 1, 3, 3},
		{"a port less", "the service port's node port is released",
			func(spec *corev1.ServiceSpec) { spec.Ports = spec.Ports[:2] }, 1, 2, 2},
		{"ClusterIP", "the node ports are released", func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeClusterIP }, 1, 0, 1},
		{"ExternalName", "all addresses and ports are released", func(spec *corev1.ServiceSpec) {
			spec.Type, spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
		}, 0, 0, 0},
		{"LoadBalancer without ports", "the service requests no node ports", func(spec *corev1.ServiceSpec) {
			spec.Type, spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, ptr.To(false)
		}, 1, 0, 1},
		{"ports after all", "allocation gives each port a node port",
			func(spec *corev1.ServiceSpec) { spec.AllocateLoadBalancerNodePorts = ptr.To(true) }, 1, 2, 3},
		{"allocation off", "the service keeps its node ports",
			func(spec *corev1.ServiceSpec) { spec.AllocateLoadBalancerNodePorts = ptr.To(false) }, 1, 2, 3},
		{"ports left out", "a service without allocation loses the node ports that it leaves out",
			func(spec *corev1.ServiceSpec) { spec.Ports[0].NodePort, spec.Ports[1].NodePort = 0, 0 }, 1, 0, 1},
		{"allocation on", "the ports come back",
			func(spec *corev1.ServiceSpec) { spec.AllocateLoadBalancerNodePorts = ptr.To(true) }, 1, 2, 3},
		{"off, without ports", "one update turns allocation off and gives up the ports", func(spec *corev1.ServiceSpec) {
			spec.AllocateLoadBalancerNodePorts = ptr.To(false)
			spec.Ports[0].NodePort, spec.Ports[1].NodePort = 0, 0
		}, 1, 0, 1},
	} {
		updated, err := s.update("a", func(service *corev1.Service) { step.change(&service.Spec) }, rest.ValidateAllObjectUpdateFunc)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := len(updated.Spec.ClusterIPs); got != step.ips {
			t.Errorf("%s: %s: cluster IPs %v, want %d", step.name, step.reason, updated.Spec.ClusterIPs, step.ips)
		}
		if got := nodePortsOf(updated); len(got) != step.nodes {
			t.Errorf("%s: %s: node ports %v, want %d", step.name, step.reason, got, step.nodes)
		}
		want := holdings(updated)
		if len(want) != step.held {
			t.Errorf("%s: %s: the service says that it holds %v, want %d", step.name, step.reason, want, step.held)
		}
		s.wantHeld(step.name+": "+step.reason, want...)
	}
	s.delete("a")
	s.wantHeld("a deleted service holds nothing")
}

func TestServiceOfAnOlderServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		cidrs        []string
		change       func(*corev1.ServiceSpec)
		want         string
	}{
		{"an address", "the address determines the family", []string{"10.0.0.0/24"}, func(spec *corev1.ServiceSpec) { spec.ClusterIP = "10.0.0.9" },
			"[10.0.0.9] SingleStack [IPv4]"},
		{"an address of the second family", "the family of the address isn't the preferred family of the server", []string{"10.0.0.0/24", "fd00::/112"}, func(spec *corev1.ServiceSpec) { spec.ClusterIP = "fd00::9" },
			"[fd00::9] SingleStack [IPv6]"},
		{"headless", "selected endpoints are of the server's family", []string{"10.0.0.0/24"}, func(spec *corev1.ServiceSpec) {
			spec.ClusterIP, spec.Selector = corev1.ClusterIPNone, map[string]string{"a": "b"}
		}, "[None] SingleStack [IPv4]"},
		{"headless without selector", "endpoints may be of both families", []string{"10.0.0.0/24"}, func(spec *corev1.ServiceSpec) { spec.ClusterIP = corev1.ClusterIPNone },
			"[None] RequireDualStack [IPv4 IPv6]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newServices(t, registrytest.Start(t), test.cidrs...)
			stored := service("old", corev1.ServiceTypeClusterIP, test.change)
			table().Scheme().Default(stored)
			stored.Namespace, stored.UID = "ns", "an-uid"
			key, err := s.Store.KeyFunc(s.ctx, stored.Name)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Store.Storage.Create(s.ctx, key, stored, &corev1.Service{}, 0, false); err != nil {
				t.Fatal(err)
			}
			want := func(what string, obj runtime.Object) {
				t.Helper()
				spec := obj.(*corev1.Service).Spec
				if got := fmt.Sprint(spec.ClusterIPs, " ", ptr.Deref(spec.IPFamilyPolicy, "none"), " ", spec.IPFamilies); got != test.want {
					t.Errorf("%s: %s: %s, want %s", what, test.reason, got, test.want)
				}
			}
			read, err := s.Get(s.ctx, "old", &metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want("read", read)
			list, err := s.List(s.ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			want("listed", &list.(*corev1.ServiceList).Items[0])
			// An old client doesn't send clusterIPs, ipFamilies and ipFamilyPolicy.
			updated, err := s.update("old", func(o *corev1.Service) {
				o.Spec.ClusterIPs, o.Spec.IPFamilies, o.Spec.IPFamilyPolicy = nil, nil, nil
				o.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			}, rest.ValidateAllObjectUpdateFunc)
			if err != nil {
				t.Fatal(err)
			}
			want("updated", updated)
			s.delete("old")
			s.wantHeld("a deleted service holds nothing")
		})
	}
}

func TestServiceFamilies(t *testing.T) {
	t.Parallel()
	single, dual := ipFamilies{"IPv4"}, ipFamilies{"IPv6", "IPv4"}
	policy := func(p corev1.IPFamilyPolicy) func(*corev1.ServiceSpec) {
		return func(spec *corev1.ServiceSpec) { spec.IPFamilyPolicy = &p }
	}
	headless := func(spec *corev1.ServiceSpec) {
		spec.ClusterIP, spec.ClusterIPs = corev1.ClusterIPNone, []string{corev1.ClusterIPNone}
	}
	selecting := func(spec *corev1.ServiceSpec) { spec.Selector = map[string]string{"a": "b"} }
	for _, test := range []struct {
		name, reason string
		server       ipFamilies
		change       []func(*corev1.ServiceSpec)
		want         string
	}{
		{"nothing asked", "the server's preferred family", dual, nil, "SingleStack [IPv6]"},
		{"by address", "the address determines the family", dual, []func(*corev1.ServiceSpec){func(spec *corev1.ServiceSpec) {
			spec.ClusterIP, spec.ClusterIPs = "10.0.0.7", []string{"10.0.0.7"}
		}}, "SingleStack [IPv4]"},
		{"prefer, both there", "the service gets both families", dual,
			[]func(*corev1.ServiceSpec){policy("PreferDualStack")}, "PreferDualStack [IPv6 IPv4]"},
		{"prefer, one there", "the service gets the only family of the server", single,
			[]func(*corev1.ServiceSpec){policy("PreferDualStack")}, "PreferDualStack [IPv4]"},
		{"require, one there", "the service requires a second family, and the server has only one", single, []func(*corev1.ServiceSpec){policy("RequireDualStack")},
			`Service "a" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`},
		{"headless", "the endpoints of the service are pods of the server's family", single,
			[]func(*corev1.ServiceSpec){headless, selecting}, "SingleStack [IPv4]"},
		{"headless without selector", "the endpoints of the service may have addresses of any family", single,
			[]func(*corev1.ServiceSpec){headless}, "RequireDualStack [IPv4 IPv6]"},
		{"two families", "the policy must say so", dual, []func(*corev1.ServiceSpec){policy("SingleStack"), func(spec *corev1.ServiceSpec) {
			spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv6"}
		}}, `Service "a" is invalid: spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := service("a", corev1.ServiceTypeClusterIP, test.change...)
			var got string
			if err := test.server.settle(s, nil); err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprint(*s.Spec.IPFamilyPolicy, " ", s.Spec.IPFamilies)
			}
			if got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
}

func TestServiceDryRun(t *testing.T) {
	t.Parallel()
	s := newServices(t, registrytest.Start(t), "10.0.0.0/24")
	got, err := s.create(service("a", corev1.ServiceTypeNodePort), metav1.DryRunAll)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.0.0.0", "32769"}, holdings(got)); diff != "" {
		t.Errorf("a dry run shows values that no service can have (-want +got):\n%s", diff)
	}
	s.wantHeld("a dry run holds nothing")
}

func TestServiceAdmission(t *testing.T) {
	t.Parallel()
	s := newServices(t, registrytest.Start(t), "10.0.0.0/24")
	var seen *corev1.Service
	wanted := service("a", corev1.ServiceTypeClusterIP)
	table().Scheme().Default(wanted)
	_, err := s.Create(s.ctx, wanted, func(_ context.Context, obj runtime.Object) error {
		seen = obj.(*corev1.Service)
		return errors.New("denied")
	}, &metav1.CreateOptions{})
	if err == nil || seen == nil || seen.Spec.ClusterIP == "" {
		t.Errorf("validating admission sees the address that the service will have: error %v, seen %v", err, seen)
	}
	s.wantHeld("a denied service holds nothing")
}

// TestServiceUpdateRetried changes a service during an update of it, so that the update is tried a second time.
func TestServiceUpdateRetried(t *testing.T) {
	t.Parallel()
	s := newServices(t, registrytest.Start(t), "10.0.0.0/24")
	s.mustCreate(service("a", corev1.ServiceTypeClusterIP))
	tries := 0
	updated, err := s.update("a", func(service *corev1.Service) {
		service.Spec.Type = corev1.ServiceTypeNodePort
		service.ResourceVersion = ""
	}, func(context.Context, runtime.Object, runtime.Object) error {
		if tries++; tries > 1 {
			return nil
		}
		_, err := s.update("a", func(service *corev1.Service) { service.Labels = map[string]string{"a": "b"} }, rest.ValidateAllObjectUpdateFunc)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if tries != 2 {
		t.Errorf("tried %d times, want twice", tries)
	}
	s.wantHeld("only the last try counts", holdings(updated)...)
}

// TestServiceConcurrency allocates all addresses of a range from two servers at once.
func TestServiceConcurrency(t *testing.T) {
	t.Parallel()
	member := registrytest.Start(t)
	servers := []services{newServices(t, member, "10.0.0.0/27"), newServices(t, member, "10.0.0.0/27")}
	var mu sync.Mutex
	var created []*corev1.Service
	var full int
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			s, err := servers[i%2].create(service(fmt.Sprint("s", i), corev1.ServiceTypeNodePort))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				created = append(created, s)
			case strings.HasSuffix(err.Error(), fmt.Sprintf("failed to allocate a serviceIP for Service \"s%d\": range is full", i)) && apierrors.IsInternalError(err):
				full++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(created) != 30 || full != 10 {
		t.Errorf("%d services have an address and %d have not, want 30 and 10", len(created), full)
	}
	want := holdings(created...)
	if len(want) != 60 {
		t.Errorf("30 services hold %d different addresses and ports, want 60", len(want))
	}
	servers[0].wantHeld("there is an entry for each", want...)
}

// TestAbandonedReservations checks which entries a new service may take over. A server may have crashed after it wrote
// an entry, and before it wrote the service.
func TestAbandonedReservations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		owner        string
		age          time.Duration
		free         bool
	}{
		{"old", "the request that made the entry has ended", "other", time.Hour, true},
		{"young", "the request that made the entry may not have written its service yet", "other", 0, false},
		{"own", "a server that starts again creates the same service again", "a", 0, true},
		{"in use", "the service exists and uses the address", "living", time.Hour, false},
		{"not a service's", "the entry belongs to another object, and not to a service", "", time.Hour, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newServices(t, registrytest.Start(t), "10.0.0.0/24")
			s.mustCreate(service("living", corev1.ServiceTypeClusterIP, func(spec *corev1.ServiceSpec) { spec.ClusterIP = "10.0.0.8" }))
			ip := "10.0.0.9"
			if test.owner == "living" {
				ip = "10.0.0.8"
			}
			address := &networkingv1.IPAddress{
				ObjectMeta: metav1.ObjectMeta{Name: ip, UID: "old", CreationTimestamp: metav1.NewTime(time.Now().Add(-test.age)),
					Labels: map[string]string{networkingv1.LabelManagedBy: ipAllocator}},
				Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "ns", Name: test.owner}},
			}
			if test.owner == "" {
				address.Spec.ParentRef.Group, address.Spec.ParentRef.Resource = "gateway.networking.k8s.io", "gateways"
			}
			store := s.allocator.ips.ledger.(addressLedger).addresses
			key, err := store.KeyFunc(context.Background(), ip)
			if err != nil {
				t.Fatal(err)
			}
			if test.owner == "living" {
				if err := store.Storage.Storage.Delete(t.Context(), key, &networkingv1.IPAddress{}, nil, rest.ValidateAllObjectFunc, nil, apistorage.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := store.Storage.Storage.Create(t.Context(), key, address, nil, 0); err != nil {
				t.Fatal(err)
			}
			_, err = s.create(service("a", corev1.ServiceTypeClusterIP, func(spec *corev1.ServiceSpec) { spec.ClusterIP = ip }))
			if free := err == nil; free != test.free {
				t.Errorf("%s: taken over %v, want %v (%v)", test.reason, free, test.free, err)
			}
		})
	}
}

func TestCandidateIPs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, cidr string
		want               int
		lower              string
	}{
		{"IPv4", "neither network nor broadcast address; the first 16 come last", "10.0.0.0/24", 254, "10.0.0.16"},
		{"small", "a small range has no lower part", "10.0.0.0/28", 14, ""},
		{"IPv6", "there is no broadcast address", "fd00::/120", 255, "fd00::10"},
		{"single", "the only address is the address of the network", "10.0.0.4/32", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cidr := netip.MustParsePrefix(test.cidr)
			all := slices.Collect(candidateIPs(cidr))
			for i, value := range all {
				ip := netip.MustParseAddr(value)
				if !contains(cidr, ip) {
					t.Errorf("%s is no address for services", value)
				}
				if inLower := test.lower != "" && !netip.MustParseAddr(test.lower).Less(ip); inLower != (test.lower != "" && i >= len(all)-16) {
					t.Errorf("%s comes as number %d of %d", value, i, len(all))
				}
			}
			slices.Sort(all)
			if got := len(slices.Compact(all)); got != test.want {
				t.Errorf("%s: %d addresses, want %d", test.reason, got, test.want)
			}
		})
	}
}
