package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// TestGatedFieldsOnUpdate checks that a field whose gate is off can't be begun to be used,
// and that objects which use it keep it.
func TestGatedFieldsOnUpdate(t *testing.T) {
	t.Parallel()
	lease := func(holder *string, strategy *coordinationv1.CoordinatedLeaseStrategy) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{PreferredHolder: holder, Strategy: strategy}}
	}
	claim := func(namespace string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		if namespace != "" {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "c", Namespace: &namespace}
		}
		return c
	}
	node := func(configured bool) *corev1.Node {
		n := &corev1.Node{}
		if configured {
			n.Spec.ConfigSource = &corev1.NodeConfigSource{}
		}
		return n
	}
	oldest := ptr.To(coordinationv1.OldestEmulationVersion)
	for _, test := range []struct {
		name, group, resource, reason string
		obj, old, want                runtime.Object
	}{
		{"begun", "coordination.k8s.io", "leases", "it would not be understood", lease(ptr.To("a"), oldest), lease(nil, nil), lease(nil, nil)},
		{"kept", "coordination.k8s.io", "leases", "the gate was on before", lease(ptr.To("b"), oldest), lease(ptr.To("a"), oldest), lease(ptr.To("b"), oldest)},
		{"kept in part", "coordination.k8s.io", "leases", "each field counts for itself", lease(ptr.To("b"), oldest), lease(nil, oldest), lease(nil, oldest)},
		{"claim", "", "persistentvolumeclaims", "it would not be understood", claim("other"), claim(""), claim("")},
		{"kept claim", "", "persistentvolumeclaims", "the gate was on before", claim("other"), claim("other"), claim("other")},
		{"node", "", "nodes", "no kubelet looks there any more", node(true), node(false), node(false)},
		{"kept node", "", "nodes", "it is from before the feature went", node(true), node(true), node(true)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			newStrategy(Scheme(), row(t, test.group, test.resource), nil).PrepareForUpdate(t.Context(), test.obj, test.old)
			if diff := cmp.Diff(test.want, test.obj); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
