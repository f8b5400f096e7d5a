package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestEndpointsColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "two subsets", Reason: "each pair of address and port counts, and IPv6 addresses are in brackets",
			Object: &corev1.Endpoints{ObjectMeta: registrytest.MonthOld("x"), Subsets: []corev1.EndpointSubset{
				{Addresses: []corev1.EndpointAddress{{IP: "fd00::1"}, {IP: "192.0.2.2"}},
					Ports: []corev1.EndpointPort{{Port: 80}, {Port: 443}}},
				{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.3"}}},
			}},
			Want: []any{"x", "[fd00::1]:80,192.0.2.2:80,[fd00::1]:443 + 2 more...", "30d"},
		},
	})
}

func TestEndpointsWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "not canonical", Reason: "addresses are checked in objects that the endpoints controller has not written",
			Object: &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{NotReadyAddresses: []corev1.EndpointAddress{{IP: "::A"}}}}},
			Want:   []string{`subsets[0].notReadyAddresses[0].ip: IPv6 address "::A" should be in RFC 5952 canonical format ("::a")`},
		},
	})
}

func TestEndpointsErrors(t *testing.T) {
	t.Parallel()
	at := func(ips ...string) *corev1.Endpoints {
		e := &corev1.Endpoints{ObjectMeta: registrytest.Stored("e"), Subsets: make([]corev1.EndpointSubset, 1)}
		for _, ip := range ips {
			e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: ip})
		}
		return e
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name:   "loopback",
			Reason: "webhooks under development listen on the loopback address, so miniapi accepts an address that kube-apiserver refuses",
			Object: at("127.0.0.1", "169.254.0.1"),
			Want:   []string{`subsets[0].addresses[1].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`},
		},
		{
			Name: "stored", Reason: "an earlier server stored the addresses", Object: at("169.254.0.1"), Old: at("169.254.0.1"),
		},
		{
			Name: "changed", Reason: "subsets that change are checked as new ones",
			Object: at("169.254.0.1", "10.1.1.1"), Old: at("169.254.0.1"),
			Want: []string{`subsets[0].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`},
		},
	})
}
