package defaults

import (
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// ResourceV1beta2ResourceClaim sets the defaults of a resource.k8s.io/v1beta2
// ResourceClaim.
func ResourceV1beta2ResourceClaim(c *resourcev1beta2.ResourceClaim) {
	deviceClaimV1beta2(&c.Spec.Devices)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			tolerationsV1beta2(a.Devices.Results[i].Tolerations)
		}
	}
}

// ResourceV1beta2ResourceClaimTemplate sets the defaults of a
// resource.k8s.io/v1beta2 ResourceClaimTemplate.
func ResourceV1beta2ResourceClaimTemplate(t *resourcev1beta2.ResourceClaimTemplate) {
	deviceClaimV1beta2(&t.Spec.Spec.Devices)
}

func deviceClaimV1beta2(c *resourcev1beta2.DeviceClaim) {
	for i := range c.Requests {
		if exactly := c.Requests[i].Exactly; exactly != nil {
			deviceCount(&exactly.AllocationMode, &exactly.Count)
			tolerationsV1beta2(exactly.Tolerations)
		}
		for j := range c.Requests[i].FirstAvailable {
			request := &c.Requests[i].FirstAvailable[j]
			deviceCount(&request.AllocationMode, &request.Count)
			tolerationsV1beta2(request.Tolerations)
		}
	}
}

func tolerationsV1beta2(list []resourcev1beta2.DeviceToleration) {
	for i := range list {
		Zero(&list[i].Operator, resourcev1beta2.DeviceTolerationOpEqual)
	}
}

// ResourceV1beta2ResourceSlice sets the defaults of a resource.k8s.io/v1beta2
// ResourceSlice.
func ResourceV1beta2ResourceSlice(s *resourcev1beta2.ResourceSlice) {
	for i := range s.Spec.Devices {
		for j := range s.Spec.Devices[i].Taints {
			taintedNow(&s.Spec.Devices[i].Taints[j].TimeAdded)
		}
	}
}

// ResourceV1beta2DeviceTaintRule sets the defaults of a resource.k8s.io/v1beta2
// DeviceTaintRule.
func ResourceV1beta2DeviceTaintRule(r *resourcev1beta2.DeviceTaintRule) {
	taintedNow(&r.Spec.Taint.TimeAdded)
}

// ResourceV1alpha3DeviceTaintRule sets the defaults of a resource.k8s.io/v1alpha3
// DeviceTaintRule.
func ResourceV1alpha3DeviceTaintRule(r *resourcev1alpha3.DeviceTaintRule) {
	taintedNow(&r.Spec.Taint.TimeAdded)
}

// ResourceV1beta1ResourceClaim sets the defaults of a resource.k8s.io/v1beta1
// ResourceClaim.
func ResourceV1beta1ResourceClaim(c *resourcev1beta1.ResourceClaim) {
	deviceClaimV1beta1(&c.Spec.Devices)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			tolerationsV1beta1(a.Devices.Results[i].Tolerations)
		}
	}
}

// ResourceV1beta1ResourceClaimTemplate sets the defaults of a
// resource.k8s.io/v1beta1 ResourceClaimTemplate.
func ResourceV1beta1ResourceClaimTemplate(t *resourcev1beta1.ResourceClaimTemplate) {
	deviceClaimV1beta1(&t.Spec.Spec.Devices)
}

func deviceClaimV1beta1(c *resourcev1beta1.DeviceClaim) {
	for i := range c.Requests {
		request := &c.Requests[i]
		// A request without a class has alternatives, and no count of its own.
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
		Zero(&list[i].Operator, resourcev1beta1.DeviceTolerationOpEqual)
	}
}

// ResourceV1beta1ResourceSlice sets the defaults of a resource.k8s.io/v1beta1
// ResourceSlice.
func ResourceV1beta1ResourceSlice(s *resourcev1beta1.ResourceSlice) {
	for i := range s.Spec.Devices {
		if basic := s.Spec.Devices[i].Basic; basic != nil {
			for j := range basic.Taints {
				taintedNow(&basic.Taints[j].TimeAdded)
			}
		}
	}
}
