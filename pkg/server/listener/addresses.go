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

// PublicAddress returns the address by which clients on other machines reach the server: the bound address, or the
// host's own address of the same family if the server listens on all addresses.
func PublicAddress(bound net.IP) net.IP {
	if bound.IsUnspecified() {
		return hostAddress(bound)
	}
	return bound
}

// hostAddress returns the host's own address in place of an unspecified or loopback address. If the host has no address
// of the same family, it returns the argument.
func hostAddress(bound net.IP) net.IP {
	if host, err := utilnet.ResolveBindAddress(bound); err == nil && netutils.IsIPv6(host) == netutils.IsIPv6(bound) {
		return host
	}
	return bound
}

// Addresses are the settings that determine the server's addresses for clients.
type Addresses struct {
	// Bound is the address that the server listens on.
	Bound net.IP
	// Public is the address by which clients on other machines reach the server.
	Public net.IP
	// Advertise is the value of --advertise-address, or nil.
	Advertise net.IP
	// AdvertiseHost puts the host's own address into the endpoints if Public is a loopback address.
	AdvertiseHost bool
	// External is the value of --external-hostname, or "".
	External string
	// ServiceRange is the range of cluster IPs.
	ServiceRange *net.IPNet
}

// Advertised returns the address in the endpoints of the service "kubernetes", or nil if the service has no endpoints.
// A loopback address isn't valid in endpoints. In its place, kube-apiserver advertises the host's own address, although
// it doesn't listen there. With AdvertiseHost, this server does the same.
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

// Names returns the names and addresses by which clients reach the server, including those of the service "kubernetes".
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
