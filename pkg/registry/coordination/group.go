// Package coordination has the kinds of API group coordination.k8s.io, which are for leader election and heartbeats.
package coordination

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group coordination.k8s.io. It has the kinds for leader election and heartbeats.
var Group = registry.Group{
	Name: "coordination.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: coordinationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: coordinationv1beta1.AddToScheme, OnDemand: true, Priority: 13},
		{Name: "v1alpha2", AddToScheme: coordinationv1alpha2.AddToScheme, OnDemand: true, Priority: 12},
	},
	Priority: 16500,
	Kinds: []registry.Kind{
		leaseKind,
		leaseCandidateKind,
	},
}
