package discovery

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group), []registrytest.ConversionCase{
		{
			Name:     "topology to v1",
			Reason:   "zone and node are fields in v1, and a host name that is not the node's name stays in the topology",
			Manifest: `{apiVersion: discovery.k8s.io/v1beta1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [], nodeName: n1, topology: {kubernetes.io/hostname: h1, topology.kubernetes.io/zone: z, rack: r}}]}`,
			To:       &discoveryv1.EndpointSlice{},
			Path:     "endpoints.0",
			Want:     `{addresses: [], conditions: {}, nodeName: n1, zone: z, deprecatedTopology: {kubernetes.io/hostname: h1, rack: r}}`,
		},
		{
			Name:     "node and zone to v1beta1",
			Reason:   "the topology of v1beta1 contains node and zone",
			Manifest: `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [], nodeName: n1, zone: z}]}`,
			To:       &discoveryv1beta1.EndpointSlice{},
			Path:     "endpoints.0",
			Want:     `{addresses: [], conditions: {}, nodeName: n1, topology: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: z}}`,
		},
	})
}
