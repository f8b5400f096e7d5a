package printers

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// DeviceClass and the further kinds of dynamic resource allocation.
var (
	DeviceClass = Of(
		[]Column{NameColumn, AgeColumn},
		func(c *resourcev1.DeviceClass) []any { return []any{c.Name, Since(c.CreationTimestamp)} })

	DeviceTaintRule = Of(
		[]Column{NameColumn, AgeColumn},
		func(r *resourcev1.DeviceTaintRule) []any { return []any{r.Name, Since(r.CreationTimestamp)} })

	ResourceClaimTemplate = Of(
		[]Column{NameColumn, AgeColumn},
		func(t *resourcev1.ResourceClaimTemplate) []any { return []any{t.Name, Since(t.CreationTimestamp)} })

	ResourceClaim = Of(
		[]Column{
			NameColumn,
			Text("State", "A summary of the current state (allocated, pending, reserved, etc.)."),
			AgeColumn,
		},
		func(c *resourcev1.ResourceClaim) []any {
			return []any{c.Name, claimState(c), Since(c.CreationTimestamp)}
		})

	ResourceSlice = Of(
		[]Column{
			NameColumn,
			Text("Node", Doc(resourcev1.ResourceSliceSpec{}, "nodeName")),
			Text("Driver", Doc(resourcev1.ResourceSliceSpec{}, "driver")),
			Text("Pool", Doc(resourcev1.ResourcePool{}, "name")),
			AgeColumn,
		},
		func(s *resourcev1.ResourceSlice) []any {
			node := ""
			if s.Spec.NodeName != nil {
				node = *s.Spec.NodeName
			}
			return []any{s.Name, node, s.Spec.Driver, s.Spec.Pool.Name, Since(s.CreationTimestamp)}
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
