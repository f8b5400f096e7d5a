package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

var resourceClaimHooks = HooksOf[*resourcev1.ResourceClaim]{
	PrepareForStatusUpdate: dropDeallocatedDevices,
	Validate:               validation.ResourceClaim,
	ValidateUpdate:         validation.ResourceClaimUpdate,
	ValidateStatusUpdate:   validation.ResourceClaimStatusUpdate,
	Authorize: func(ctx context.Context, deps Dependencies, c, old *resourcev1.ResourceClaim) field.ErrorList {
		if old != nil {
			// The spec is immutable.
			return nil
		}
		return allowAdminAccess(ctx, deps, c.Namespace, requestedAdminAccess(c.Spec.Devices.Requests))
	},
	AuthorizeStatus: func(ctx context.Context, deps Dependencies, c, old *resourcev1.ResourceClaim) field.ErrorList {
		var errs field.ErrorList
		if allocatedAdminAccess(old) == nil {
			errs = allowAdminAccess(ctx, deps, c.Namespace, allocatedAdminAccess(c))
		}
		return append(errs, mayChangeClaim(ctx, deps, c, old)...)
	},
	AuthorizeFirst: true,
}

var resourceClaimTemplateHooks = HooksOf[*resourcev1.ResourceClaimTemplate]{
	Validate:       validation.ResourceClaimTemplate,
	ValidateUpdate: validation.ResourceClaimTemplateUpdate,
	Authorize: func(ctx context.Context, deps Dependencies, t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
		if old != nil {
			return nil
		}
		return allowAdminAccess(ctx, deps, t.Namespace, requestedAdminAccess(t.Spec.Spec.Devices.Requests))
	},
	AuthorizeFirst: true,
}

// requestedAdminAccess is where administrative access is asked for first, or nil.
func requestedAdminAccess(requests []resourcev1.DeviceRequest) *field.Path {
	for i, r := range requests {
		if r.Exactly != nil && ptr.Deref(r.Exactly.AdminAccess, false) {
			return field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// allocatedAdminAccess is where administrative access is given first, or nil.
func allocatedAdminAccess(c *resourcev1.ResourceClaim) *field.Path {
	if c.Status.Allocation == nil {
		return nil
	}
	for i, r := range c.Status.Allocation.Devices.Results {
		if ptr.Deref(r.AdminAccess, false) {
			return field.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// allowAdminAccess refuses administrative access, at the path where there is some, in
// namespaces that aren't labelled for it (KEP-5018).
func allowAdminAccess(ctx context.Context, deps Dependencies, namespace string, path *field.Path) field.ErrorList {
	if path == nil {
		return nil
	}
	found, err := deps.Get(ctx, corev1.Resource("namespaces"), namespace)
	if err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("could not retrieve namespace to verify admin access: %w", err))}
	}
	if MetaOf(found).GetLabels()[resourcev1.DRAAdminNamespaceLabelKey] != "true" {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"admin access to devices requires the `%s: true` label on the containing namespace", resourcev1.DRAAdminNamespaceLabelKey))}
	}
	return nil
}

// retaint says that a taint which has another effect now was added now, unless the
// update says when (KEP-5055).
func retaint(_ context.Context, r, old *resourcev1.DeviceTaintRule) {
	now, was := &r.Spec.Taint, &old.Spec.Taint
	if now.Effect != was.Effect && now.TimeAdded.Equal(was.TimeAdded) {
		now.TimeAdded = &metav1.Time{Time: time.Now().Truncate(time.Second)}
	}
}

// dropDeallocatedDevices drops the status of devices that were allocated and no
// longer are (KEP-4817).
func dropDeallocatedDevices(_ context.Context, c, old *resourcev1.ResourceClaim) {
	was, is := allocatedDevices(old), allocatedDevices(c)
	c.Status.Devices = slices.DeleteFunc(c.Status.Devices, func(s resourcev1.AllocatedDeviceStatus) bool {
		d := device{s.Driver, s.Pool, s.Device}
		return was[d] && !is[d]
	})
	if len(c.Status.Devices) == 0 {
		c.Status.Devices = nil
	}
}

// device is what names a device in a claim.
type device struct{ driver, pool, name string }

func allocatedDevices(c *resourcev1.ResourceClaim) map[device]bool {
	devices := map[device]bool{}
	if c.Status.Allocation != nil {
		for _, r := range c.Status.Allocation.Devices.Results {
			devices[device{r.Driver, r.Pool, r.Device}] = true
		}
	}
	return devices
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
