package node

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert RuntimeClasses. Only v1alpha1 has a spec.
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Renamed(func(in *nodev1alpha1.RuntimeClass, out *nodev1.RuntimeClass) error {
			out.Handler = in.Spec.RuntimeHandler
			return conversion.CopyFields(&in.Spec, out)
		}),
		conversion.Renamed(func(in *nodev1.RuntimeClass, out *nodev1alpha1.RuntimeClass) error {
			out.Spec = nodev1alpha1.RuntimeClassSpec{RuntimeHandler: in.Handler}
			if in.Overhead != nil {
				out.Spec.Overhead = &nodev1alpha1.Overhead{PodFixed: in.Overhead.PodFixed}
			}
			if in.Scheduling != nil {
				out.Spec.Scheduling = &nodev1alpha1.Scheduling{NodeSelector: in.Scheduling.NodeSelector, Tolerations: in.Scheduling.Tolerations}
			}
			return nil
		}),
	}
}
