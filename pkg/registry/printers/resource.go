package printers

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// DeviceClass and the further kinds of dynamic resource allocation.
var (
	DeviceClass = of(
		[]column{nameColumn, ageColumn},
		func(c *resourcev1.DeviceClass) []any { return []any{c.Name, since(c.CreationTimestamp)} })

	DeviceTaintRule = of(
		[]column{nameColumn, ageColumn},
		func(r *resourcev1.DeviceTaintRule) []any { return []any{r.Name, since(r.CreationTimestamp)} })

	ResourceClaimTemplate = of(
		[]column{nameColumn, ageColumn},
		func(t *resourcev1.ResourceClaimTemplate) []any { return []any{t.Name, since(t.CreationTimestamp)} })

	ResourceClaim = of(
		[]column{
			nameColumn,
			text("State", "A summary of the current state (allocated, pending, reserved, etc.)."),
			ageColumn,
		},
		func(c *resourcev1.ResourceClaim) []any {
			return []any{c.Name, claimState(c), since(c.CreationTimestamp)}
		})

	ResourceSlice = of(
		[]column{
			nameColumn,
			text("Node", doc(resourcev1.ResourceSliceSpec{}, "nodeName")),
			text("Driver", doc(resourcev1.ResourceSliceSpec{}, "driver")),
			text("Pool", doc(resourcev1.ResourcePool{}, "name")),
			ageColumn,
		},
		func(s *resourcev1.ResourceSlice) []any {
			node := ""
			if s.Spec.NodeName != nil {
				node = *s.Spec.NodeName
			}
			return []any{s.Name, node, s.Spec.Driver, s.Spec.Pool.Name, since(s.CreationTimestamp)}
		})
)

func claimState(c *resourcev1.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}
