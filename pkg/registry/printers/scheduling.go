package printers

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
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
