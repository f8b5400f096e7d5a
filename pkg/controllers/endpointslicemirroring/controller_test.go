package endpointslicemirroring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice/util"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

func endpointsOf(changes ...func(*corev1.Endpoints)) *corev1.Endpoints {
	e := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "e", Labels: map[string]string{"tier": "db"},
			Annotations: map[string]string{"a": "b", corev1.LastAppliedConfigAnnotation: "{}"}},
		Subsets: []corev1.EndpointSubset{{
			Addresses:         []corev1.EndpointAddress{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.0.0.2", Hostname: "two"}},
			Ports:             []corev1.EndpointPort{{Name: "sql", Port: 5432, Protocol: corev1.ProtocolTCP}},
		}},
	}
	for _, change := range changes {
		change(e)
	}
	return e
}

// describe describes slices, without the numbers of generated names.
func describe(all []discoveryv1.EndpointSlice) (lines []string) {
	for _, s := range all {
		line := fmt.Sprintf("%s %s", strings.TrimRight(s.Name, "12"), s.AddressType)
		for _, p := range s.Ports {
			line += fmt.Sprintf(" %s:%d", *p.Name, *p.Port)
		}
		var addresses []string
		for _, e := range s.Endpoints {
			addresses = append(addresses, fmt.Sprintf("%s=%t", e.Addresses[0], *e.Conditions.Ready))
		}
		slices.Sort(addresses)
		lines = append(lines, line+" "+strings.Join(addresses, ","))
	}
	slices.Sort(lines)
	return lines
}

func TestSync(t *testing.T) {
	t.Parallel()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
	selects := service.DeepCopy()
	selects.Spec.Selector = map[string]string{"a": "b"}
	// mirror returns the slice of the IPv4 addresses, with changes.
	mirror := func(changes ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		c := &controller{}
		e := endpointsOf()
		for g, m := range c.mirror(e) {
			if g.addresses == discoveryv1.AddressTypeIPv4 {
				s := newSlice(e, g, m)
				s.Name = "s-4"
				for _, change := range changes {
					change(s)
				}
				return s
			}
		}
		t.Fatal("there are no IPv4 addresses")
		return nil
	}
	const four, six = "IPv4 sql:5432 10.0.0.1=true,10.0.0.2=false", "IPv6 sql:5432 fd00::1=true"
	for _, test := range []struct {
		name, reason string
		endpoints    *corev1.Endpoints
		service      *corev1.Service
		existing     []*discoveryv1.EndpointSlice
		want, writes []string
	}{
		{"new", "each type of addresses has a slice", endpointsOf(), service, nil, []string{"s- " + four, "s- " + six},
			[]string{"create endpointslices ns", "create endpointslices ns"}},
		{"same", "an up-to-date slice stays", endpointsOf(func(e *corev1.Endpoints) { e.Subsets[0].Addresses = e.Subsets[0].Addresses[:1] }), service,
			[]*discoveryv1.EndpointSlice{mirror()}, []string{"s-4 " + four}, nil},
		{"labels", "labels are mirrored", endpointsOf(func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses, e.Labels = e.Subsets[0].Addresses[:1], nil
		}), service, []*discoveryv1.EndpointSlice{mirror()}, []string{"s-4 " + four}, []string{"update endpointslices ns/s-4"}},
		{"recreated", "the owner is another object", endpointsOf(func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses, e.UID = e.Subsets[0].Addresses[:1], "f"
		}), service, []*discoveryv1.EndpointSlice{mirror()}, []string{"s-4 " + four}, []string{"update endpointslices ns/s-4"}},
		{"ports", "a slice that isn't needed gets other ports", endpointsOf(func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses, e.Subsets[0].Ports[0].Port = e.Subsets[0].Addresses[:1], 1
		}), service, []*discoveryv1.EndpointSlice{mirror()}, []string{"s-4 IPv4 sql:1 10.0.0.1=true,10.0.0.2=false"}, []string{"update endpointslices ns/s-4"}},
		{"fewer", "a slice without addresses goes", endpointsOf(func(e *corev1.Endpoints) { e.Subsets = nil }), service,
			[]*discoveryv1.EndpointSlice{mirror()}, nil, []string{"delete endpointslices ns/s-4"}},
		{"selector", "the other controller has Services with a selector", endpointsOf(), selects,
			[]*discoveryv1.EndpointSlice{mirror()}, nil, []string{"delete endpointslices ns/s-4"}},
		{"skipped", "the label says so", endpointsOf(func(e *corev1.Endpoints) { e.Labels[discoveryv1.LabelSkipMirror] = "true" }), service,
			[]*discoveryv1.EndpointSlice{mirror()}, nil, []string{"delete endpointslices ns/s-4"}},
		{"lock", "locks of leaders were in Endpoints", endpointsOf(func(e *corev1.Endpoints) {
			e.Annotations["control-plane.alpha.kubernetes.io/leader"] = "{}"
		}), service, nil, nil, nil},
		{"subsets with the same address", "a slice has all ports of its addresses", endpointsOf(func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses, e.Subsets[0].NotReadyAddresses = e.Subsets[0].Addresses[:1], nil
			e.Subsets = append(e.Subsets, *e.Subsets[0].DeepCopy())
			e.Subsets[1].Ports[0].Name, e.Subsets[1].Ports[0].Port = "web", 80
		}), service, nil, []string{"s- IPv4 sql:5432 web:80 10.0.0.1=true"}, []string{"create endpointslices ns"}},
		{"ready in one subset alone", "the address isn't ready", endpointsOf(func(e *corev1.Endpoints) {
			e.Subsets = append(e.Subsets, *e.Subsets[0].DeepCopy())
			e.Subsets[0].Addresses, e.Subsets[0].NotReadyAddresses = e.Subsets[0].Addresses[:1], nil
			e.Subsets[1].Addresses, e.Subsets[1].NotReadyAddresses = nil, e.Subsets[0].Addresses
		}), service, nil, []string{"s- IPv4 sql:5432 10.0.0.1=false"}, []string{"create endpointslices ns"}},
		{"deleted", "nothing is left", nil, service, []*discoveryv1.EndpointSlice{mirror()}, nil, []string{"delete endpointslices ns/s-4"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewSimpleClientset()
			store := func() cache.Indexer {
				return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			}
			endpoints, services, known := store(), store(), store()
			if test.endpoints != nil {
				_ = endpoints.Add(test.endpoints)
			}
			_ = services.Add(test.service)
			for _, s := range test.existing {
				_ = known.Add(s)
				_ = client.Tracker().Add(s)
			}
			c := &controller{
				Config:    Config{Client: client.DiscoveryV1(), Events: eventrecorder.NewRecorder(t.Context(), client.CoreV1(), Component)},
				endpoints: corelisters.NewEndpointsLister(endpoints), services: corelisters.NewServiceLister(services),
				slices: discoverylisters.NewEndpointSliceLister(known), written: util.NewEndpointSliceTracker(),
			}
			created := 0
			client.PrependReactor("create", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) { // fakes generate no names
				s := action.(clienttesting.CreateAction).GetObject().(*discoveryv1.EndpointSlice).DeepCopy()
				created++
				s.Name = fmt.Sprint(s.GenerateName, created)
				return true, s, client.Tracker().Add(s)
			})
			if _, err := c.sync(t.Context(), "ns/s"); err != nil {
				t.Fatal(err)
			}
			list, err := client.DiscoveryV1().EndpointSlices("ns").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, describe(list.Items)); diff != "" {
				t.Errorf("%s: the slices differ (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.writes, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
