package webhookcert

import (
	"fmt"
	"net"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// NamesOf returns the host names and addresses of the arguments. For an argument NAMESPACE/SERVICE, it returns
// SERVICE.NAMESPACE.svc and SERVICE.NAMESPACE.svc.cluster.local. It adds localhost and the loopback addresses,
// because developers also call a webhook on their own machine. The result hosts has the host or the address of each
// argument, as clients call it.
func NamesOf(args []string) (names pki.Names, hosts []string, err error) {
	for _, arg := range args {
		if ip := net.ParseIP(arg); ip != nil {
			names.IPs, hosts = append(names.IPs, ip), append(hosts, arg)
			continue
		}
		namespace, service, isService := strings.Cut(arg, "/")
		host := arg
		if isService {
			host = service + "." + namespace + ".svc"
			names.DNS = append(names.DNS, host, host+".cluster.local")
		} else {
			names.DNS = append(names.DNS, host)
		}
		if wrong := validation.IsDNS1123Subdomain(host); len(wrong) > 0 || isService && (strings.Contains(namespace, ".") || strings.Contains(service, ".")) {
			return names, nil, fmt.Errorf("%q: must be NAMESPACE/SERVICE, or a host name or an IP address without a port", arg)
		}
		hosts = append(hosts, host)
	}
	names.DNS = append(names.DNS, "localhost")
	names.IPs = append(names.IPs, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	return names, hosts, nil
}
