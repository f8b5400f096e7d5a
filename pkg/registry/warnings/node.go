package warnings

import (
	"context"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RuntimeClass returns the warnings of a runtime class.
func RuntimeClass(_ context.Context, c, _ *nodev1.RuntimeClass) []string {
	if c.Scheduling == nil {
		return nil
	}
	var l List
	l.NodeSelector(c.Scheduling.NodeSelector, func(string) *field.Path { return field.NewPath("scheduling", "nodeSelector") })
	return l
}
