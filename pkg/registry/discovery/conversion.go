package discovery

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert EndpointSlices. The zone and the node of an endpoint are fields in v1. In v1beta1, they are
// labels in the field topology.
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Renamed(func(in *discoveryv1beta1.EndpointSlice, out *discoveryv1.EndpointSlice) error {
			for i := range in.Endpoints {
				topologyFields(in.Endpoints[i].Topology, &out.Endpoints[i])
			}
			return nil
		}),
		conversion.Renamed(func(in *discoveryv1.EndpointSlice, out *discoveryv1beta1.EndpointSlice) error {
			for i := range in.Endpoints {
				out.Endpoints[i].Topology = topologyLabels(&in.Endpoints[i])
			}
			return nil
		}),
	}
}

// topologyFields moves the zone and the node of an endpoint from topology to fields. If the label for the host name
// differs from the node's name, it stays in topology.
func topologyFields(topology map[string]string, out *discoveryv1.Endpoint) {
	rest := maps.Clone(topology)
	if zone, found := rest[corev1.LabelTopologyZone]; found {
		out.Zone = &zone
		delete(rest, corev1.LabelTopologyZone)
	}
	if host, found := rest[corev1.LabelHostname]; found && (out.NodeName == nil || *out.NodeName == host) {
		out.NodeName = &host
		delete(rest, corev1.LabelHostname)
	}
	if len(rest) > 0 {
		out.DeprecatedTopology = rest
	}
}

func topologyLabels(in *discoveryv1.Endpoint) map[string]string {
	if in.DeprecatedTopology == nil && in.Zone == nil && in.NodeName == nil {
		return nil
	}
	topology := maps.Clone(in.DeprecatedTopology)
	if topology == nil {
		topology = map[string]string{}
	}
	if in.Zone != nil {
		topology[corev1.LabelTopologyZone] = *in.Zone
	}
	if in.NodeName != nil && topology[corev1.LabelHostname] == "" {
		topology[corev1.LabelHostname] = *in.NodeName
	}
	return topology
}
