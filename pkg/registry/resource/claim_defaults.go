package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

func deviceClaimV1beta1(c *resourcev1beta1.DeviceClaim) {
	for i := range c.Requests {
		request := &c.Requests[i]
		// A request without a device class has alternatives. Each alternative has a count of its
		// own.
		if request.DeviceClassName != "" {
			deviceCount(&request.AllocationMode, &request.Count)
		}
		tolerationsV1beta1(request.Tolerations)
		for j := range request.FirstAvailable {
			alternative := &request.FirstAvailable[j]
			deviceCount(&alternative.AllocationMode, &alternative.Count)
			tolerationsV1beta1(alternative.Tolerations)
		}
	}
}

func tolerationsV1beta1(list []resourcev1beta1.DeviceToleration) {
	for i := range list {
		defaults.Zero(&list[i].Operator, resourcev1beta1.DeviceTolerationOpEqual)
	}
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

// deviceCount sets the default of a request's count: one device.
func deviceCount[Mode ~string](mode *Mode, count *int64) {
	exact := Mode(resourcev1.DeviceAllocationModeExactCount)
	defaults.Zero(mode, exact)
	if *mode == exact {
		defaults.Zero(count, 1)
	}
}

func tolerations(list []resourcev1.DeviceToleration) {
	for i := range list {
		defaults.Zero(&list[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}
