package coordination

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestLeaseCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "coordinated", Reason: "the feature gate CoordinatedLeaderElection is off",
			Object: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("a"), PreferredHolder: ptr.To("b"), Strategy: ptr.To(coordinationv1.OldestEmulationVersion),
			}},
			Want: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a")}},
		},
	})
}

func TestLeaseErrors(t *testing.T) {
	t.Parallel()
	lease := func(strategy coordinationv1.CoordinatedLeaseStrategy, finalizers ...string) *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: registrytest.Stored("l"), Spec: coordinationv1.LeaseSpec{Strategy: &strategy}}
		l.Finalizers = finalizers
		return l
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{Name: "finalizer without a domain", Reason: "only the server's core kinds require a domain", Object: lease("e.com/s", "foo")},
		{Name: "updated finalizer without a domain", Reason: "an update allows the same finalizers",
			Object: lease("e.com/s", "foo"), Old: lease("e.com/s")},
		{
			Name: "unknown strategy", Reason: "strategies without a domain are those of Kubernetes", Object: lease("s"),
			Want: []string{`spec.strategy.strategy: Unsupported value: "s": supported values: "OldestEmulationVersion"`},
		},
	})
}
