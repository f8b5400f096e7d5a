package admission

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

// In the variable order, the row of each mutating plugin must list the resources whose objects the
// plugin may change. Otherwise a recording would show a change as made by a later step.
func TestChangesOfPluginsAreKnown(t *testing.T) {
	t.Parallel()
	c := &chain{options: NewOptions(), Dependencies: Dependencies{Informers: &Informers{}}}
	for _, p := range order {
		if p.new == nil {
			continue
		}
		made, err := p.new(c, nil)
		if err != nil {
			continue // the plugin can't be made without a configuration; the tests of its package check it
		}
		_, mutates := made.(admission.MutationInterface)
		if listed := p.changes != nil; mutates != listed {
			t.Errorf("%s: mutates objects: %t, but its row lists the resources that it may change: %t", p.name, mutates, listed)
		}
	}
}
