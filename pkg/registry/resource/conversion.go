package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert fields that are at another depth in v1beta1. In v1, the fields of a single request are under
// "exactly". In v1beta1, the fields of a device are under "basic".
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Renamed(func(in *resourcev1beta1.ResourceClaim, out *resourcev1.ResourceClaim) error {
			return requestsFromV1beta1(in.Spec.Devices.Requests, out.Spec.Devices.Requests)
		}),
		conversion.Renamed(func(in *resourcev1.ResourceClaim, out *resourcev1beta1.ResourceClaim) error {
			return requestsToV1beta1(in.Spec.Devices.Requests, out.Spec.Devices.Requests)
		}),
		conversion.Renamed(func(in *resourcev1beta1.ResourceClaimTemplate, out *resourcev1.ResourceClaimTemplate) error {
			return requestsFromV1beta1(in.Spec.Spec.Devices.Requests, out.Spec.Spec.Devices.Requests)
		}),
		conversion.Renamed(func(in *resourcev1.ResourceClaimTemplate, out *resourcev1beta1.ResourceClaimTemplate) error {
			return requestsToV1beta1(in.Spec.Spec.Devices.Requests, out.Spec.Spec.Devices.Requests)
		}),
		conversion.Renamed(func(in *resourcev1beta1.ResourceSlice, out *resourcev1.ResourceSlice) error {
			for i := range in.Spec.Devices {
				if basic := in.Spec.Devices[i].Basic; basic != nil {
					if err := conversion.CopyFields(basic, &out.Spec.Devices[i]); err != nil {
						return err
					}
				}
			}
			return nil
		}),
		conversion.Renamed(func(in *resourcev1.ResourceSlice, out *resourcev1beta1.ResourceSlice) error {
			for i := range in.Spec.Devices {
				out.Spec.Devices[i].Basic = &resourcev1beta1.BasicDevice{}
				if err := conversion.CopyFields(&in.Spec.Devices[i], out.Spec.Devices[i].Basic); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

func requestsFromV1beta1(in []resourcev1beta1.DeviceRequest, out []resourcev1.DeviceRequest) error {
	for i := range in {
		if !hasOwnFields(&in[i]) {
			continue
		}
		out[i].Exactly = &resourcev1.ExactDeviceRequest{}
		if err := conversion.CopyFields(&in[i], out[i].Exactly); err != nil {
			return err
		}
	}
	return nil
}

// hasOwnFields reports whether a request of v1beta1 sets any of the fields that v1 has under "exactly". A request
// with alternatives leaves these fields empty.
func hasOwnFields(r *resourcev1beta1.DeviceRequest) bool {
	return r.DeviceClassName != "" || r.Selectors != nil || r.AllocationMode != "" || r.Count != 0 ||
		r.AdminAccess != nil || r.Tolerations != nil || r.Capacity != nil || r.DerivedAttributes != nil
}

func requestsToV1beta1(in []resourcev1.DeviceRequest, out []resourcev1beta1.DeviceRequest) error {
	for i := range in {
		if in[i].Exactly == nil {
			continue
		}
		if err := conversion.CopyFields(in[i].Exactly, &out[i]); err != nil {
			return err
		}
	}
	return nil
}
