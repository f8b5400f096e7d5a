package printers

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/utils/ptr"
)

// PriorityClass is shown by its value.
var PriorityClass = of(
	[]column{
		nameColumn,
		number("Value", doc(schedulingv1.PriorityClass{}, "value")),
		boolean("Global-Default", doc(schedulingv1.PriorityClass{}, "globalDefault")),
		ageColumn,
		text("PreemptionPolicy", doc(schedulingv1.PriorityClass{}, "preemptionPolicy")),
	},
	func(c *schedulingv1.PriorityClass) []any {
		return []any{
			c.Name, int64(c.Value), c.GlobalDefault, since(c.CreationTimestamp), string(ptr.Deref(c.PreemptionPolicy, "")),
		}
	})

// Workload and PodGroup are shown by name and age.
var (
	Workload = of(
		[]column{nameColumn, ageColumn},
		func(w *schedulingv1beta1.Workload) []any { return []any{w.Name, since(w.CreationTimestamp)} })

	PodGroup = of(
		[]column{nameColumn, ageColumn},
		func(g *schedulingv1beta1.PodGroup) []any { return []any{g.Name, since(g.CreationTimestamp)} })
)
