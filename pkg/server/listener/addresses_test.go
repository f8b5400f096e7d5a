package listener

import (
	"net"
	"slices"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

func TestAdvertised(t *testing.T) {
	t.Parallel()
	// host is the address that the library finds, which kube-apiserver advertises. It is nil on a machine without a
	// network.
	loopback, any4 := net.IPv4(127, 0, 0, 1), net.IPv4zero
	host, err := utilnet.ResolveBindAddress(loopback)
	if err != nil || host.IsLoopback() || host.To4() == nil {
		host = nil
	}
	address := net.IPv4(192, 0, 2, 1)
	for _, test := range []struct {
		name        string
		host        bool   // the value of AdvertiseHost
		bound, flag net.IP // the values of --bind-address and --advertise-address
		want        net.IP
		reason      string
	}{
		{"serve", false, loopback, nil, nil, "only this machine reaches it"},
		{"serve everywhere", false, any4, nil, host, "others reach it by the host's address"},
		{"kube-apiserver", true, loopback, nil, host, "so does kube-apiserver"},
		{"kube-apiserver everywhere", true, any4, nil, host, "so does kube-apiserver"},
		{"kube-apiserver at an address", true, address, nil, address, "it is known"},
		{"told one", true, loopback, address, address, "the flag says so"},
		{"told the loopback", true, loopback, loopback, nil, "the flag says so, and endpoints can't have it"},
		{"told nothing", true, loopback, any4, host, "0.0.0.0 is no address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, services, err := net.ParseCIDR("10.0.0.0/16")
			if err != nil {
				t.Fatal(err)
			}
			addresses := Addresses{Bound: test.bound, Public: test.flag, Advertise: test.flag, AdvertiseHost: test.host, ServiceRange: services}
			if test.flag == nil || test.flag.IsUnspecified() {
				addresses.Public = PublicAddress(test.bound)
			}
			if got := addresses.Advertised(); !got.Equal(test.want) {
				t.Errorf("got %s, want %s: %s", got, test.want, test.reason)
			}
			names, err := addresses.Names()
			if err != nil {
				t.Fatal(err)
			}
			if test.want != nil && !slices.ContainsFunc(names.IPs, test.want.Equal) {
				t.Errorf("the certificate is for %s, want %s among them: who is told of it must trust it", names.IPs, test.want)
			}
		})
	}
}
