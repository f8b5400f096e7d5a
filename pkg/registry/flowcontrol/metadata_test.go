package flowcontrol

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestStatusMetadata checks that a status update changes nothing in the metadata but the managed fields.
func TestStatusMetadata(t *testing.T) {
	t.Parallel()
	managed := []metav1.ManagedFieldsEntry{{Manager: "m"}}
	sent := metav1.ObjectMeta{Name: "a", GenerateName: "a", DeletionGracePeriodSeconds: new(int64), Labels: map[string]string{"a": "b"}, ManagedFields: managed}
	stored, want := metav1.ObjectMeta{Name: "a"}, metav1.ObjectMeta{Name: "a", ManagedFields: managed}
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "schema", Reason: "kube-apiserver takes the metadata of the stored object", Status: true,
			Object: &flowcontrolv1.FlowSchema{ObjectMeta: sent}, Old: &flowcontrolv1.FlowSchema{ObjectMeta: stored},
			Want: &flowcontrolv1.FlowSchema{ObjectMeta: want},
		},
		{
			Name: "level", Reason: "kube-apiserver takes the metadata of the stored object", Status: true,
			Object: &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: sent},
			Old:    &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: stored},
			Want:   &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: want},
		},
	})
}
