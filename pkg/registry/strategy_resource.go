package registry

import (
	"context"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

var resourceClaimHooks = HooksOf[*resourcev1.ResourceClaim]{
	PrepareForStatusUpdate: dropDeallocatedDevices,
	Validate:               validation.ResourceClaim,
	ValidateUpdate:         validation.ResourceClaimUpdate,
	ValidateStatusUpdate:   validation.ResourceClaimStatusUpdate,
}

// dropDeallocatedDevices drops the status of devices that were allocated and no
// longer are (KEP-4817).
func dropDeallocatedDevices(_ context.Context, c, old *resourcev1.ResourceClaim) {
	type device struct{ driver, pool, name string }
	allocated := func(c *resourcev1.ResourceClaim) map[device]bool {
		devices := map[device]bool{}
		if c.Status.Allocation != nil {
			for _, r := range c.Status.Allocation.Devices.Results {
				devices[device{r.Driver, r.Pool, r.Device}] = true
			}
		}
		return devices
	}
	was, is := allocated(old), allocated(c)
	c.Status.Devices = slices.DeleteFunc(c.Status.Devices, func(s resourcev1.AllocatedDeviceStatus) bool {
		d := device{s.Driver, s.Pool, s.Device}
		return was[d] && !is[d]
	})
	if len(c.Status.Devices) == 0 {
		c.Status.Devices = nil
	}
}

var resourceSliceFields = FieldsOf[*resourcev1.ResourceSlice]{
	Values: func(s *resourcev1.ResourceSlice) fields.Set {
		var node string
		if s.Spec.NodeName != nil {
			node = *s.Spec.NodeName
		}
		return fields.Set{
			resourcev1.ResourceSliceSelectorNodeName: node,
			resourcev1.ResourceSliceSelectorDriver:   s.Spec.Driver,
			resourcev1.ResourceSliceSelectorPoolName: s.Spec.Pool.Name,
		}
	},
	Names: []string{
		resourcev1.ResourceSliceSelectorNodeName, resourcev1.ResourceSliceSelectorDriver, resourcev1.ResourceSliceSelectorPoolName,
	},
	Unsupported: "field label not supported for %[2]s: %[1]s",
}
