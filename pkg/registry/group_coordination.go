package registry

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// coordination is leader election and heartbeats.
var coordination = Group{
	Name: "coordination.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: coordinationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: coordinationv1beta1.AddToScheme, OnDemand: true},
	},
	Kinds: []Kind{
		{
			Resource:   "leases",
			Namespaced: true,
			Object:     &coordinationv1.Lease{}, List: &coordinationv1.LeaseList{},
			CreateOnUpdate:    true,
			ConditionalUpdate: true,
			Printer:           &printers.Lease,
			Hooks:             leaseHooks,
		},
	},
}
