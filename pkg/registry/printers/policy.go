package printers

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudget is shown by what it demands, and what that allows now.
var PodDisruptionBudget = of(
	[]column{
		nameColumn,
		text("Min Available", "The minimum number of pods that must be available."),
		text("Max Unavailable", "The maximum number of pods that may be unavailable."),
		number("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
		ageColumn,
	},
	func(b *policyv1.PodDisruptionBudget) []any {
		bound := func(n *intstr.IntOrString) string {
			if n == nil {
				return "N/A"
			}
			return n.String()
		}
		return []any{
			b.Name, bound(b.Spec.MinAvailable), bound(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed),
			since(b.CreationTimestamp),
		}
	})
