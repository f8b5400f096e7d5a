package defaults

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceClaim sets the defaults of a ResourceClaim.
func ResourceClaim(c *resourcev1.ResourceClaim) {
	deviceClaim(&c.Spec.Devices)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			tolerations(a.Devices.Results[i].Tolerations)
		}
	}
}

// ResourceClaimTemplate sets the defaults of a ResourceClaimTemplate.
func ResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) {
	deviceClaim(&t.Spec.Spec.Devices)
}

func deviceClaim(c *resourcev1.DeviceClaim) {
	for i := range c.Requests {
		if exactly := c.Requests[i].Exactly; exactly != nil {
			deviceCount(&exactly.AllocationMode, &exactly.Count)
			tolerations(exactly.Tolerations)
		}
		for j := range c.Requests[i].FirstAvailable {
			request := &c.Requests[i].FirstAvailable[j]
			deviceCount(&request.AllocationMode, &request.Count)
			tolerations(request.Tolerations)
		}
	}
}

// deviceCount asks for one device where nothing else is asked for.
func deviceCount[Mode ~string](mode *Mode, count *int64) {
	exact := Mode(resourcev1.DeviceAllocationModeExactCount)
	Zero(mode, exact)
	if *mode == exact {
		Zero(count, 1)
	}
}

func tolerations(list []resourcev1.DeviceToleration) {
	for i := range list {
		Zero(&list[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}

// ResourceSlice sets the defaults of a ResourceSlice.
func ResourceSlice(s *resourcev1.ResourceSlice) {
	for i := range s.Spec.Devices {
		for j := range s.Spec.Devices[i].Taints {
			taintedNow(&s.Spec.Devices[i].Taints[j].TimeAdded)
		}
	}
}

// DeviceTaintRule sets the defaults of a DeviceTaintRule.
func DeviceTaintRule(r *resourcev1.DeviceTaintRule) { taintedNow(&r.Spec.Taint.TimeAdded) }

// taintedNow says that a taint without time was added now, to the second.
func taintedNow(added **metav1.Time) {
	if *added == nil {
		*added = &metav1.Time{Time: time.Now().Truncate(time.Second)}
	}
}
