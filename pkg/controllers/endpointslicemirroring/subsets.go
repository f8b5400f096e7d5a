package endpointslicemirroring

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// host identifies an address of Endpoints.
type host struct {
	ip  string
	uid types.UID // of the target, if it is known
}

// repack returns subsets of which each has all ports of the same addresses. An address that is in several subsets with a
// port is ready if it is ready in all of them.
func repack(subsets []corev1.EndpointSubset) (repacked []corev1.EndpointSubset) {
	var hosts []host
	var ports []corev1.EndpointPort
	addresses, ready := map[host]corev1.EndpointAddress{}, map[corev1.EndpointPort]map[host]bool{}
	for _, subset := range subsets {
		if len(subset.Ports) == 0 {
			subset.Ports = []corev1.EndpointPort{{}}
		}
		for _, port := range subset.Ports {
			if ready[port] == nil {
				ports, ready[port] = append(ports, port), map[host]bool{}
			}
			add := func(all []corev1.EndpointAddress, isReady bool) {
				for _, address := range all {
					h := host{ip: address.IP}
					if address.TargetRef != nil {
						h.uid = address.TargetRef.UID
					}
					if _, known := addresses[h]; !known {
						hosts, addresses[h] = append(hosts, h), address
					}
					was, known := ready[port][h]
					ready[port][h] = isReady && (was || !known)
				}
			}
			add(subset.Addresses, true)
			add(subset.NotReadyAddresses, false)
		}
	}
	var of []map[host]bool // the addresses of the repacked subsets
	for _, port := range ports {
		i := slices.IndexFunc(of, func(other map[host]bool) bool { return maps.Equal(other, ready[port]) })
		if i < 0 {
			i, of = len(of), append(of, ready[port])
			repacked = append(repacked, corev1.EndpointSubset{})
		}
		if port.Port != 0 {
			repacked[i].Ports = append(repacked[i].Ports, port)
		}
	}
	for i := range repacked {
		for _, h := range hosts {
			isReady, has := of[i][h]
			switch {
			case isReady:
				repacked[i].Addresses = append(repacked[i].Addresses, addresses[h])
			case has:
				repacked[i].NotReadyAddresses = append(repacked[i].NotReadyAddresses, addresses[h])
			}
		}
	}
	return repacked
}
