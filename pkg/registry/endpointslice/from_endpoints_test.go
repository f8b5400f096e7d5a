package endpointslice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

func TestOf(t *testing.T) {
	t.Parallel()
	pod := &corev1.ObjectReference{Kind: "Pod", Name: "p"}
	got := Of(&corev1.Endpoints{Subsets: []corev1.EndpointSubset{
		{
			Addresses:         []corev1.EndpointAddress{{IP: "10.0.0.1", TargetRef: pod}, {IP: "10.0.0.2"}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.0.0.3"}},
			Ports:             []corev1.EndpointPort{{Name: "a", Port: 80}, {Name: "b", Port: 443}},
		},
		{Addresses: []corev1.EndpointAddress{{IP: "fd00::1"}}, Ports: []corev1.EndpointPort{{Port: 80}}},
	}})
	want := []*discoveryv1.EndpointSlice{
		{
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, TargetRef: pod}, {Addresses: []string{"10.0.0.2"}}},
			Ports: []discoveryv1.EndpointPort{{Name: ptr.To("a"), Port: ptr.To[int32](80)},
				{Name: ptr.To("b"), Port: ptr.To[int32](443)}},
		},
		{
			AddressType: discoveryv1.AddressTypeIPv6,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"fd00::1"}}},
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: ptr.To[int32](80)}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}
