package printers

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/utils/ptr"
)

// PriorityClass is shown by its value.
var PriorityClass = Of(
	[]Column{
		NameColumn,
		Number("Value", Doc(schedulingv1.PriorityClass{}, "value")),
		Boolean("Global-Default", Doc(schedulingv1.PriorityClass{}, "globalDefault")),
		AgeColumn,
		Text("PreemptionPolicy", Doc(schedulingv1.PriorityClass{}, "preemptionPolicy")),
	},
	func(c *schedulingv1.PriorityClass) []any {
		return []any{
			c.Name, int64(c.Value), c.GlobalDefault, Since(c.CreationTimestamp), string(ptr.Deref(c.PreemptionPolicy, "")),
		}
	})

// Workload and PodGroup are shown by name and age.
var (
	Workload = Of(
		[]Column{NameColumn, AgeColumn},
		func(w *schedulingv1beta1.Workload) []any { return []any{w.Name, Since(w.CreationTimestamp)} })

	PodGroup = Of(
		[]Column{NameColumn, AgeColumn},
		func(g *schedulingv1beta1.PodGroup) []any { return []any{g.Name, Since(g.CreationTimestamp)} })
)
