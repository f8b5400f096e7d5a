package services

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func TestResolver(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Namespace: "hooks", Name: "hook"}
	sliceMeta := metav1.ObjectMeta{Namespace: "hooks", Name: "hook-x7", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type:  corev1.ServiceTypeClusterIP,
		Ports: []corev1.ServicePort{{Name: "metrics", Port: 8080}, {Name: "https", Port: 443, TargetPort: intstr.FromString("webhook")}},
	}}
	ports := []discoveryv1.EndpointPort{{Name: new("metrics"), Port: new(int32(18080))}, {Name: new("https"), Port: new(int32(9443))}}
	ready := discoveryv1.Endpoint{Addresses: []string{"127.0.0.1"}}
	unready := discoveryv1.Endpoint{Addresses: []string{"127.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}}

	tests := []struct {
		name, reason string
		objects      []runtime.Object
		addresses    Addresses
		port         int32
		want, err    string
	}{{
		name:      "flag",
		reason:    "the flag takes precedence, whether the service exists or not",
		addresses: Addresses{{"hooks", "hook", 0}: "localhost:1", {"hooks", "hook", 443}: "localhost:2"},
		port:      443,
		want:      "https://localhost:2",
	}, {
		name:   "slice",
		reason: "the port's name in the service selects the port of the slice, and only a ready address counts",
		objects: []runtime.Object{service,
			&discoveryv1.EndpointSlice{ObjectMeta: sliceMeta, Ports: ports, Endpoints: []discoveryv1.Endpoint{unready, ready}}},
		port: 443,
		want: "https://127.0.0.1:9443",
	}, {
		name:   "endpoints",
		reason: "no controller mirrors Endpoints to slices, so the resolver reads Endpoints too",
		objects: []runtime.Object{service, &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
			Addresses:         []corev1.EndpointAddress{{IP: "::1"}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "127.0.0.3"}},
			Ports:             []corev1.EndpointPort{{Name: "https", Port: 9443}},
		}}}},
		port: 443,
		want: "https://[::1]:9443",
	}, {
		name:   "slice and endpoints",
		reason: "a controller that writes EndpointSlices need not write Endpoints, so the Endpoints may be old",
		objects: []runtime.Object{
			service,
			&discoveryv1.EndpointSlice{ObjectMeta: sliceMeta, Ports: ports, Endpoints: []discoveryv1.Endpoint{unready}},
			&corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
				Addresses: []corev1.EndpointAddress{{IP: "127.0.0.3"}}, Ports: []corev1.EndpointPort{{Name: "https", Port: 9443}},
			}}},
		},
		port: 443,
		err:  `no endpoints available for service "hook"`,
	}, {
		name:   "address family",
		reason: "the service names its preferred address family",
		objects: []runtime.Object{
			&corev1.Service{ObjectMeta: meta,
				Spec: corev1.ServiceSpec{Ports: service.Spec.Ports, IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}}},
			&discoveryv1.EndpointSlice{ObjectMeta: sliceMeta, AddressType: discoveryv1.AddressTypeIPv4, Ports: ports,
				Endpoints: []discoveryv1.Endpoint{ready}},
			&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "hook-6", Labels: sliceMeta.Labels}, AddressType: discoveryv1.AddressTypeIPv6,
				Ports: ports, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"::1"}}}},
		},
		port: 443,
		want: "https://[::1]:9443",
	}, {
		name:   "first address family",
		reason: "of two address families, the service prefers the first family",
		objects: []runtime.Object{
			&corev1.Service{ObjectMeta: meta,
				Spec: corev1.ServiceSpec{Ports: service.Spec.Ports, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}}},
			&discoveryv1.EndpointSlice{ObjectMeta: sliceMeta, AddressType: discoveryv1.AddressTypeIPv4, Ports: ports,
				Endpoints: []discoveryv1.Endpoint{ready}},
			&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "hook-6", Labels: sliceMeta.Labels}, AddressType: discoveryv1.AddressTypeIPv6,
				Ports: ports, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"::1"}}}},
		},
		port: 443,
		want: "https://127.0.0.1:9443",
	}, {
		name:   "other service's slice",
		reason: "the label of a slice names its service",
		objects: []runtime.Object{service, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "hook", Labels: map[string]string{discoveryv1.LabelServiceName: "other"}},
			Ports:      ports, Endpoints: []discoveryv1.Endpoint{ready}}},
		port: 443,
		err:  `no endpoints available for service "hook"`,
	}, {
		name:    "external name",
		reason:  "an external name needs no ports",
		objects: []runtime.Object{&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "hooks.example.com"}}},
		port:    8443,
		want:    "https://hooks.example.com:8443",
	}, {
		name:   "no ready endpoint",
		reason: "only ready endpoints are called",
		objects: []runtime.Object{service,
			&discoveryv1.EndpointSlice{ObjectMeta: sliceMeta, Ports: ports, Endpoints: []discoveryv1.Endpoint{unready}}},
		port: 443,
		err:  `no endpoints available for service "hook"`,
	}, {
		name:    "no such port",
		reason:  "the port is a port of the service, and not of an endpoint",
		objects: []runtime.Object{service},
		port:    9443,
		err:     `no service port 9443 found for service "hook"`,
	}, {
		name:   "no service",
		reason: "neither the informer nor the server has the service",
		port:   443,
		err:    `service "hook" not found`,
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(test.objects...)
			factory := informers.NewSharedInformerFactory(client, 0)
			resolver := NewResolver(test.addresses, client, factory)
			factory.StartWithContext(t.Context())
			for informer, synced := range factory.WaitForCacheSync(t.Context().Done()) {
				if !synced {
					t.Fatalf("the informer of %s hasn't synced", informer)
				}
			}
			got, err := resolver.ResolveEndpoint("hooks", "hook", test.port)
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s: error %v, want %q", test.reason, err, test.err)
				}
			case err != nil:
				t.Errorf("%s: %v", test.reason, err)
			case got.String() != test.want:
				t.Errorf("%s: %s, want %s", test.reason, got, test.want)
			}
		})
	}
}

// Port 443 of the service default/kubernetes is the server itself.
func TestResolverSelf(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	resolver := NewResolver(nil, client, informers.NewSharedInformerFactory(client, 0))
	for _, test := range []struct {
		namespace, name string
		port            int32
		want            string
	}{
		{"default", "kubernetes", 443, "https://kubernetes.default.svc:443"},
		{"default", "kubernetes", 8443, ""},
		{"default", "other", 443, ""},
		{"kube-system", "kubernetes", 443, ""},
	} {
		got, err := resolver.ResolveEndpoint(test.namespace, test.name, test.port)
		switch {
		case test.want == "" && !apierrors.IsNotFound(err):
			t.Errorf("%s/%s:%d is at %v, error %v, want none found", test.namespace, test.name, test.port, got, err)
		case test.want != "" && (err != nil || got.String() != test.want):
			t.Errorf("%s/%s:%d is at %v, error %v, want %s", test.namespace, test.name, test.port, got, err, test.want)
		}
	}
}

// A service that the informer doesn't have is read from the server.
func TestResolverLive(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "hook"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "hooks.example.com"}})
	// The informers never start, so they are empty.
	resolver := NewResolver(nil, client, informers.NewSharedInformerFactory(client, 0))
	got, err := resolver.ResolveEndpoint("hooks", "hook", 443)
	if err != nil || got.String() != "https://hooks.example.com:443" {
		t.Errorf("%v, error %v, want what the server says", got, err)
	}
}
