package registry

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// coordination is leader election and heartbeats.
var coordination = Group{
	Name: "coordination.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: coordinationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: coordinationv1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha2", AddToScheme: coordinationv1alpha2.AddToScheme, OnDemand: true},
	},
	Priority: 16500,
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
		{
			Resource:   "leasecandidates",
			Namespaced: true,
			Object:     &coordinationv1beta1.LeaseCandidate{}, List: &coordinationv1beta1.LeaseCandidateList{},
			CreateOnUpdate:    true,
			ConditionalUpdate: true,
			Printer:           &printers.LeaseCandidate,
			Hooks: HooksOf[*coordinationv1beta1.LeaseCandidate]{
				Validate:       validation.LeaseCandidate,
				ValidateUpdate: validation.LeaseCandidateUpdate,
			},
		},
	},
}
