package admission

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

// For each mutating plugin, the variable changed must list the resources whose objects the plugin may change.
// Otherwise a recording would show a change as made by a later step.
func TestChangesOfPluginsAreKnown(t *testing.T) {
	t.Parallel()
	c := &chain{options: NewOptions(), Dependencies: Dependencies{Informers: &Informers{}}}
	named := map[string]bool{}
	for _, p := range order {
		named[p.name] = true
		if p.new == nil {
			continue
		}
		made, err := p.new(c, nil)
		if err != nil {
			continue // the plugin can't be made without a configuration; the tests of its package check it
		}
		_, mutates := made.(admission.MutationInterface)
		if _, known := changed[p.name]; mutates != known {
			t.Errorf("%s: mutates objects: %t, but is among those that may change objects: %t", p.name, mutates, known)
		}
	}
	for name := range changed {
		if !named[name] {
			t.Errorf("%s is no plugin of the chain", name)
		}
	}
}
