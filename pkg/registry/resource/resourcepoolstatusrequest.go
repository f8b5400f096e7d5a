package resource

import (
	"fmt"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// resourcePoolStatusRequestKind is the row of resourcepoolstatusrequests in the server's table of kinds.
var resourcePoolStatusRequestKind = registry.Kind{
	Resource: "resourcepoolstatusrequests",
	Object:   &resourcev1alpha3.ResourcePoolStatusRequest{}, List: &resourcev1alpha3.ResourcePoolStatusRequestList{},
	Defaults:            []registry.Default{registry.DefaultOf(defaultResourcePoolStatusRequest)},
	Status:              true,
	StatusKeepsMetadata: true,
	ConditionalUpdate:   true,
	ReturnDeleted:       true,
	Printer:             &resourcePoolStatusRequestColumns,
	Hooks: registry.HooksOf[*resourcev1alpha3.ResourcePoolStatusRequest]{
		Validate:             validateResourcePoolStatusRequest,
		ValidateUpdate:       validateResourcePoolStatusRequestUpdate,
		ValidateStatusUpdate: validateResourcePoolStatusRequestStatusUpdate,
	},
	Gated: []registry.Gate{registry.GateOf[resourcev1alpha3.ResourcePoolStatusRequest]("DRAPartitionableDevicesType", "Spec.DefaultPartitionTypeAttribute")},
}

func defaultResourcePoolStatusRequest(r *resourcev1alpha3.ResourcePoolStatusRequest) {
	defaults.Pointer(&r.Spec.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitDefault)
}

// validateResourcePoolStatusRequest checks a new request for the status of pools of devices (KEP-5677).
func validateResourcePoolStatusRequest(o *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	return validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain).Errs
}

func validateResourcePoolStatusRequestUpdate(o, old *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	return validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs
}

// validateResourcePoolStatusRequestStatusUpdate checks the status, which a controller writes once.
func validateResourcePoolStatusRequestStatusUpdate(o, old *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	switch {
	case old.Status != nil:
		f.Merge(validation.Unchanged(validation.StatusPath, o.Status, old.Status))
	case o.Status != nil:
		f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, validation.StatusPath.Child("conditions")))
	}
	return f.Errs
}

// resourcePoolStatusRequestColumns makes the rows of kubectl get. They show the sums over all pools.
var resourcePoolStatusRequestColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Driver", "The driver to query pools for."),
		printers.Text("Total", "Total number of devices across all pools."),
		printers.Text("Available", "Number of available devices across all pools."),
		printers.Text("Allocated", "Number of allocated devices across all pools."),
		printers.Text("Unavailable", "Number of unavailable devices across all pools."),
		printers.Text("Errors", "Number of pools with validation errors."),
		printers.Number("Pools", "Total number of matching pools."),
		printers.Text("Status", "Processing status."),
		printers.Text("Completed", "Time since the observation completed."),
	},
	func(r *resourcev1alpha3.ResourcePoolStatusRequest) []any {
		status := ptr.Deref(r.Status, resourcev1alpha3.ResourcePoolStatusRequestStatus{})
		state, completed, pools := "Pending", printers.None, ptr.Deref(status.PoolCount, 0)
		counted := r.Status != nil
		switch complete := meta.FindStatusCondition(status.Conditions, resourcev1alpha3.ResourcePoolStatusRequestConditionComplete); {
		case complete != nil && complete.Status == metav1.ConditionTrue:
			state, completed = "Complete", printers.Since(complete.LastTransitionTime)
			if n := len(status.Pools); pools > int32(n) {
				state = fmt.Sprintf("Complete (%d/%d pools)", n, pools)
			}
		case meta.IsStatusConditionTrue(status.Conditions, resourcev1alpha3.ResourcePoolStatusRequestConditionFailed):
			state, counted = "Failed", false
		}
		row := []any{r.Name, r.Spec.Driver}
		for _, count := range []func(*resourcev1alpha3.PoolStatus) int32{
			func(p *resourcev1alpha3.PoolStatus) int32 { return ptr.Deref(p.TotalDevices, 0) },
			func(p *resourcev1alpha3.PoolStatus) int32 { return ptr.Deref(p.AvailableDevices, 0) },
			func(p *resourcev1alpha3.PoolStatus) int32 { return ptr.Deref(p.AllocatedDevices, 0) },
			func(p *resourcev1alpha3.PoolStatus) int32 { return ptr.Deref(p.UnavailableDevices, 0) },
			func(p *resourcev1alpha3.PoolStatus) int32 {
				if p.ValidationError == nil {
					return 0
				}
				return 1
			},
		} {
			if !counted {
				row = append(row, "-")
				continue
			}
			var sum int32
			for i := range status.Pools {
				sum += count(&status.Pools[i])
			}
			row = append(row, fmt.Sprint(sum))
		}
		return append(row, pools, state, completed)
	})
