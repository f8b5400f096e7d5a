package discovery

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// TestEveryGroupHasAPriority checks the priority of each group. A group without a priority would be listed after the
// groups of custom resources. Then kubectl would resolve a short name of the group to a custom resource with the same
// short name.
func TestEveryGroupHasAPriority(t *testing.T) {
	t.Parallel()
	for _, gv := range builtin.Table().Scheme().PrioritizedVersionsAllGroups() {
		if groupPriority(builtin.Table(), gv.Group) <= 1000 {
			t.Errorf("%q has priority %d", gv.Group, groupPriority(builtin.Table(), gv.Group))
		}
	}
}
