package printers

import (
	"cmp"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// EndpointSlice is shown by its first ports and addresses.
var EndpointSlice = Of(
	[]Column{
		NameColumn,
		Text("AddressType", Doc(discoveryv1.EndpointSlice{}, "addressType")),
		Text("Ports", Doc(discoveryv1.EndpointSlice{}, "ports")),
		Text("Endpoints", Doc(discoveryv1.EndpointSlice{}, "endpoints")),
		AgeColumn,
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
			s.Name, string(s.AddressType), cmp.Or(First(3, ports, ","), Unset), cmp.Or(First(3, addresses, ","), Unset),
			Since(s.CreationTimestamp),
		}
	})
