// Package endpointslice makes EndpointSlices from Endpoints, the older kind with the same content.
//
// Don't use the package for a Service that has stored EndpointSlices: stored EndpointSlices have more information, and
// take precedence.
package endpointslice

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"
)

// Of returns EndpointSlices with the ready addresses of Endpoints, one for each subset. They have no names, and aren't
// stored.
func Of(endpoints *corev1.Endpoints) []*discoveryv1.EndpointSlice {
	slices := make([]*discoveryv1.EndpointSlice, 0, len(endpoints.Subsets))
	for _, subset := range endpoints.Subsets {
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
		for i := range subset.Ports {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &subset.Ports[i].Name, Port: &subset.Ports[i].Port})
		}
		for _, address := range subset.Addresses {
			if netutils.IsIPv6String(address.IP) {
				slice.AddressType = discoveryv1.AddressTypeIPv6
			}
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address.IP}, TargetRef: address.TargetRef})
		}
		slices = append(slices, slice)
	}
	return slices
}
