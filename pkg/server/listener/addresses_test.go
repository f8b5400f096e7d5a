package listener

import (
	"net"
	"slices"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

func TestAdvertised(t *testing.T) {
	t.Parallel()
	// host is the address of this machine that kube-apiserver advertises. It is nil if the machine has no IPv4
	// address except for the loopback address.
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
		{"serve", false, loopback, nil, nil, "only clients on this machine reach the server"},
		{"serve everywhere", false, any4, nil, host, "clients on other machines reach the server by the host's address"},
		{"kube-apiserver", true, loopback, nil, host, "kube-apiserver advertises the host's address"},
		{"kube-apiserver everywhere", true, any4, nil, host, "kube-apiserver advertises the host's address"},
		{"kube-apiserver at an address", true, address, nil, address, "the server listens on one address"},
		{"told one", true, loopback, address, address, "--advertise-address names the address"},
		{"told the loopback", true, loopback, loopback, nil, "endpoints can't have the loopback address of --advertise-address"},
		{"told nothing", true, loopback, any4, host, "--advertise-address=0.0.0.0 names no address"},
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
				t.Errorf("the certificate is for %s, want %s among them: a client that gets this address must trust the certificate", names.IPs, test.want)
			}
		})
	}
}
