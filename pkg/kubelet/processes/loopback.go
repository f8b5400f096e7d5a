package processes

import (
	"net/netip"
	"runtime"
)

// localhost is the loopback address that each system has.
const localhost = "127.0.0.1"

// loopback returns the address of this machine at which the processes of a pod listen, for an address of the pod. Nothing
// reaches the pod's address itself. The address 10.244.0.5 becomes 127.244.0.5, where the system has all addresses of
// 127.0.0.0/8. So a server that listens on the address of its pod alone leaves the port free for other pods, and one that
// listens on all addresses is reached, too.
func loopback(ip string, hostNetwork bool) string {
	address, err := netip.ParseAddr(ip)
	switch {
	case err == nil && address.Is6():
		return netip.IPv6Loopback().String()
	case err != nil || hostNetwork || runtime.GOOS != "linux" && runtime.GOOS != "windows":
		return localhost
	}
	bytes := address.As4()
	bytes[0] = 127
	return netip.AddrFrom4(bytes).String()
}

func loopbacks(ips []string, hostNetwork bool) []string {
	var all []string
	for _, ip := range ips {
		all = append(all, loopback(ip, hostNetwork))
	}
	return all
}
