package resourcequota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

const deviceClaimObjects = corev1.ResourceName("count/resourceclaims.resource.k8s.io")

// deviceClaims returns the rules for resource claims. A quota counts the claims, and the devices that they request
// of each device class (KEP-4381).
func deviceClaims() rules {
	return rules{
		counts: func(name corev1.ResourceName) bool {
			return name == deviceClaimObjects || strings.HasSuffix(string(name), corev1.ResourceClaimsPerClass)
		},
		handles: func(a admission.Attributes) bool {
			return a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update)
		},
		usage: func(object runtime.Object) (corev1.ResourceList, error) {
			claim, err := as[*resourcev1.ResourceClaim](object)
			if err != nil {
				return nil, err
			}
			devices := map[string]int64{}
			for i := range claim.Spec.Devices.Requests {
				for class, count := range mostDevices(&claim.Spec.Devices.Requests[i]) {
					devices[class] += count
				}
			}
			usage := corev1.ResourceList{deviceClaimObjects: *one()}
			for class, count := range devices {
				usage[corev1.ResourceName(class+corev1.ResourceClaimsPerClass)] = *resource.NewQuantity(count, resource.DecimalSI)
			}
			return usage, nil
		},
	}
}

// mostDevices returns, for each device class, the greatest number of devices that a request can get. For a request
// with alternatives, that is the maximum over the alternatives. For a request of all devices, it is the limit of
// devices in a claim.
func mostDevices(request *resourcev1.DeviceRequest) map[string]int64 {
	most := map[string]int64{}
	add := func(class string, mode resourcev1.DeviceAllocationMode, count int64) {
		if mode == resourcev1.DeviceAllocationModeAll {
			count = resourcev1.AllocationResultsMaxSize
		}
		most[class] = max(most[class], count)
	}
	if exactly := request.Exactly; exactly != nil {
		add(exactly.DeviceClassName, exactly.AllocationMode, exactly.Count)
	}
	for _, alternative := range request.FirstAvailable {
		add(alternative.DeviceClassName, alternative.AllocationMode, alternative.Count)
	}
	return most
}
