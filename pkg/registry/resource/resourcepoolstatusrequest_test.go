package resource

import (
	"testing"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestResourcePoolStatusRequest(t *testing.T) {
	t.Parallel()
	request := func(driver string, status *resourcev1alpha3.ResourcePoolStatusRequestStatus) *resourcev1alpha3.ResourcePoolStatusRequest {
		return &resourcev1alpha3.ResourcePoolStatusRequest{
			ObjectMeta: registrytest.ClusterStored("r"),
			Spec:       resourcev1alpha3.ResourcePoolStatusRequestSpec{Driver: driver, Limit: ptr.To[int32](1)}, Status: status,
		}
	}
	in := func(condition string, pools ...resourcev1alpha3.PoolStatus) *resourcev1alpha3.ResourcePoolStatusRequestStatus {
		return &resourcev1alpha3.ResourcePoolStatusRequestStatus{
			PoolCount: ptr.To[int32](2), Pools: pools,
			Conditions: []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: "Done", LastTransitionTime: registrytest.MonthAgo()}},
		}
	}
	complete := in("Complete", resourcev1alpha3.PoolStatus{
		Driver: "d.example.com", PoolName: "p", TotalDevices: ptr.To[int32](3), AvailableDevices: ptr.To[int32](1),
		AllocatedDevices: ptr.To[int32](2),
	})
	table := registrytest.Table(t, Group)
	registrytest.CheckColumns(t, table, []registrytest.ColumnsCase{
		{Name: "new", Reason: "nothing is counted yet", Object: request("d.example.com", nil),
			Want: []any{"r", "d.example.com", "-", "-", "-", "-", "-", int32(0), "Pending", "<none>"}},
		{Name: "complete", Reason: "the status says how many pools it leaves out", Object: request("d.example.com", complete),
			Want: []any{"r", "d.example.com", "3", "1", "2", "0", "0", int32(2), "Complete (1/2 pools)", "30d"}},
		{Name: "failed", Reason: "the counts of a failed request mean nothing", Object: request("d.example.com", in("Failed")),
			Want: []any{"r", "d.example.com", "-", "-", "-", "-", "-", int32(2), "Failed", "<none>"}},
	})
	registrytest.CheckErrors(t, table, []registrytest.WriteCase{
		{Name: "driver", Reason: "a pool belongs to a driver", Object: request("", nil), Want: []string{"spec.driver: Required value"}},
		{Name: "second status", Reason: "a request is answered once", Status: true, Old: request("d.example.com", complete), Object: request("d.example.com", nil),
			Want: []string{"status: Invalid value: null: field is immutable"}},
	})
}
