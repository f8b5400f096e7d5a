package listener

import (
	"fmt"
	"net"
	"os"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// PublicAddress is what clients elsewhere reach the server by: where it is bound to,
// or the host's own address of that family if that is all of them.
func PublicAddress(bound net.IP) net.IP {
	if bound.IsUnspecified() {
		return hostAddress(bound)
	}
	return bound
}

// hostAddress is the host's own address, in place of one that is unspecified or the loopback; that one if the
// host has none of its family.
func hostAddress(bound net.IP) net.IP {
	if host, err := utilnet.ResolveBindAddress(bound); err == nil && netutils.IsIPv6(host) == netutils.IsIPv6(bound) {
		return host
	}
	return bound
}

// Addresses say by which addresses clients reach a server.
type Addresses struct {
	// Bound is the address that the server listens on.
	Bound net.IP
	// Public is the address by which clients elsewhere reach the server.
	Public net.IP
	// Advertise is the value of --advertise-address, nil without the flag.
	Advertise net.IP
	// AdvertiseHost stands for the host's own address in the place of the loopback.
	AdvertiseHost bool
	// External is the value of --external-hostname, "" without the flag.
	External string
	// ServiceRange is the range of cluster IPs.
	ServiceRange *net.IPNet
}

// Advertised is the address of the endpoints of the service "kubernetes", nil if it has none. Endpoints can't have a
// loopback address. kube-apiserver gives them the host's own in its place, though it doesn't listen there, and a server
// with AdvertiseHost does the same.
func (a Addresses) Advertised() net.IP {
	public := a.Public
	if a.AdvertiseHost && public.IsLoopback() && !a.Advertise.IsLoopback() {
		public = hostAddress(public)
	}
	if public.IsLoopback() || public.IsUnspecified() {
		return nil
	}
	return public
}

// Names are the names and addresses that clients reach the server by, those of the service "kubernetes" included.
func (a Addresses) Names() (pki.Names, error) {
	hosts := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	addresses := sets.New("127.0.0.1", "::1")
	serviceIP, err := netutils.GetIndexedIP(a.ServiceRange, 1)
	if err != nil {
		return pki.Names{}, fmt.Errorf("--service-cluster-ip-range %q: %w", a.ServiceRange, err)
	}
	addresses.Insert(serviceIP.String())
	for _, ip := range []net.IP{a.Bound, a.Advertise, a.Advertised()} {
		if ip != nil && !ip.IsUnspecified() {
			addresses.Insert(ip.String())
		}
	}
	if a.External != "" {
		if ip := netutils.ParseIPSloppy(a.External); ip != nil {
			addresses.Insert(a.External)
		} else {
			hosts = append(hosts, a.External)
		}
	}
	var ips []net.IP
	for _, address := range sets.List(addresses) {
		ips = append(ips, netutils.ParseIPSloppy(address))
	}
	return pki.Names{DNS: hosts, IPs: ips}, nil
}
