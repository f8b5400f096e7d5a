package printers

import (
	"cmp"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// EndpointSlice is shown by its first ports and addresses.
var EndpointSlice = of(
	[]column{
		nameColumn,
		text("AddressType", doc(discoveryv1.EndpointSlice{}, "addressType")),
		text("Ports", doc(discoveryv1.EndpointSlice{}, "ports")),
		text("Endpoints", doc(discoveryv1.EndpointSlice{}, "endpoints")),
		ageColumn,
	},
	func(s *discoveryv1.EndpointSlice) []any {
		var ports, addresses []string
		for _, port := range s.Ports {
			shown := ptr.Deref(port.Name, "*")
			if port.Port != nil {
				shown = strconv.Itoa(int(*port.Port))
			}
			ports = append(ports, shown)
		}
		for _, endpoint := range s.Endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
		return []any{
			s.Name, string(s.AddressType), cmp.Or(first(3, ports, ","), unset), cmp.Or(first(3, addresses, ","), unset),
			since(s.CreationTimestamp),
		}
	})
