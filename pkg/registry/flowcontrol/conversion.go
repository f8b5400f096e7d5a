package flowcontrol

import (
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert priority levels. The field with the shares is called assuredConcurrencyShares in old
// versions, and nominalConcurrencyShares in new versions. In v1beta3, 0 stands for the default. So an annotation
// marks a 0 that the client has set.
func conversions() []conversion.Function {
	const zeroIsMeant = flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey
	toV1 := conversion.Adjusted(func(in *flowcontrolv1beta1.PriorityLevelConfiguration, out *flowcontrolv1.PriorityLevelConfiguration) error {
		if in.Spec.Limited != nil {
			out.Spec.Limited.NominalConcurrencyShares = &in.Spec.Limited.AssuredConcurrencyShares
		}
		return nil
	})
	fromV1 := conversion.Adjusted(func(in *flowcontrolv1.PriorityLevelConfiguration, out *flowcontrolv1beta1.PriorityLevelConfiguration) error {
		if in.Spec.Limited != nil && in.Spec.Limited.NominalConcurrencyShares != nil {
			out.Spec.Limited.AssuredConcurrencyShares = *in.Spec.Limited.NominalConcurrencyShares
		}
		return nil
	})
	return slices.Concat(
		conversion.Both(toV1, fromV1),
		conversion.BothLike[flowcontrolv1beta2.PriorityLevelConfiguration](toV1, fromV1),
		[]conversion.Function{
			conversion.Renamed(func(in *flowcontrolv1beta3.PriorityLevelConfiguration, out *flowcontrolv1.PriorityLevelConfiguration) error {
				delete(out.Annotations, zeroIsMeant)
				return nil
			}),
			conversion.Renamed(func(in *flowcontrolv1.PriorityLevelConfiguration, out *flowcontrolv1beta3.PriorityLevelConfiguration) error {
				if limited := out.Spec.Limited; limited != nil && limited.NominalConcurrencyShares == 0 {
					if out.Annotations == nil {
						out.Annotations = map[string]string{}
					}
					out.Annotations[zeroIsMeant] = ""
				}
				return nil
			}),
		})
}
