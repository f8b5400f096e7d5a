package registry

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

var leaseHooks = HooksOf[*coordinationv1.Lease]{
	PrepareForCreate: func(_ context.Context, l *coordinationv1.Lease) { dropCoordination(l, &coordinationv1.Lease{}) },
	PrepareForUpdate: func(_ context.Context, l, old *coordinationv1.Lease) { dropCoordination(l, old) },
	Validate:         validation.Lease,
	ValidateUpdate:   validation.LeaseUpdate,
}

// dropCoordination drops what only a server that elects leaders itself understands
// (KEP-4355), unless the old lease has it already.
func dropCoordination(l, old *coordinationv1.Lease) {
	if utilfeature.DefaultFeatureGate.Enabled(features.CoordinatedLeaderElection) {
		return
	}
	if old.Spec.Strategy == nil {
		l.Spec.Strategy = nil
	}
	if old.Spec.PreferredHolder == nil {
		l.Spec.PreferredHolder = nil
	}
}
