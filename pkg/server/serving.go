package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// openListener takes the port, or a free one if it is 0, which the library takes to
// mean "don't serve". A listener that is there already stays.
func openListener(serving *genericoptions.SecureServingOptions) error {
	if serving.Listener != nil {
		return nil
	}
	if serving.PermitPortSharing && serving.BindPort != 0 {
		return shareListener(serving)
	}
	address := net.JoinHostPort(serving.BindAddress.String(), strconv.Itoa(serving.BindPort))
	var err error
	if serving.Listener, err = net.Listen("tcp", address); err == nil {
		return nil
	}
	advice := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = ": take another port, or 0 for a free one"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = ": take an address of this machine"
	}
	return fmt.Errorf("--bind-address %s --secure-port %d: %w%s", serving.BindAddress, serving.BindPort, err, advice)
}

// shareListener leaves it to the library to open a port that others may open too.
func shareListener(serving *genericoptions.SecureServingOptions) error {
	var info *genericapiserver.SecureServingInfo
	alone := genericoptions.SecureServingOptions{BindAddress: serving.BindAddress, BindPort: serving.BindPort, PermitPortSharing: true}
	if err := alone.ApplyTo(&info); err != nil {
		return fmt.Errorf("--bind-address %s --secure-port %d: %w", serving.BindAddress, serving.BindPort, err)
	}
	serving.Listener = info.Listener
	return nil
}

// publicAddress is what clients elsewhere reach the server by: where it is bound to,
// or the host's own address of that family if that is all of them.
func publicAddress(bound net.IP) net.IP {
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

// advertised is the address of the endpoints of the service "kubernetes", nil if it has none. A loopback address
// is everybody's own, which endpoints can't have. kube-apiserver gives them the host's own in its place, though it
// doesn't listen there, and what stands in for it does the same.
func (c *Config) advertised() net.IP {
	public := c.generic.PublicAddress
	if c.options.AdvertiseHost && public.IsLoopback() && !c.options.ServerRun.AdvertiseAddress.IsLoopback() {
		public = hostAddress(public)
	}
	if public.IsLoopback() || public.IsUnspecified() {
		return nil
	}
	return public
}

// servingNames are the names and addresses that clients reach the server by, those
// of the service "kubernetes" included.
func (c *Config) servingNames(serving *genericoptions.SecureServingOptions) (pki.Names, error) {
	hosts := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	addresses := sets.New("127.0.0.1", "::1")
	serviceIP, err := netutils.GetIndexedIP(c.options.serviceRange[0], 1)
	if err != nil {
		return pki.Names{}, fmt.Errorf("--service-cluster-ip-range %q: %w", c.options.ServiceClusterIPRange, err)
	}
	addresses.Insert(serviceIP.String())
	for _, ip := range []net.IP{serving.BindAddress, c.options.ServerRun.AdvertiseAddress, c.advertised()} {
		if ip != nil && !ip.IsUnspecified() {
			addresses.Insert(ip.String())
		}
	}
	if external := c.options.ServerRun.ExternalHost; external != "" {
		if ip := netutils.ParseIPSloppy(external); ip != nil {
			addresses.Insert(external)
		} else {
			hosts = append(hosts, external)
		}
	}
	var ips []net.IP
	for _, address := range sets.List(addresses) {
		ips = append(ips, netutils.ParseIPSloppy(address))
	}
	return pki.Names{DNS: hosts, IPs: ips}, nil
}

// servingCA is what clients verify the server with: the certificate that it shows,
// whoever signed it, and its own authority.
func (c *Config) servingCA() []byte {
	shown, _ := c.generic.SecureServing.Cert.CurrentCertKeyContent()
	return append(append([]byte{}, shown...), c.authority.CA()...)
}
