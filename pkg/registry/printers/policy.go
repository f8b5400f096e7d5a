package printers

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudget is shown by what it demands, and what that allows now.
var PodDisruptionBudget = Of(
	[]Column{
		NameColumn,
		Text("Min Available", "The minimum number of pods that must be available."),
		Text("Max Unavailable", "The maximum number of pods that may be unavailable."),
		Number("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
		AgeColumn,
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
			Since(b.CreationTimestamp),
		}
	})
