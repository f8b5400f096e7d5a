package admission

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

// A recording knows for each mutating plugin which objects it may change: a change by another plugin would be shown as
// that of a later step.
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
			continue // the plugin needs a configuration, so its package's tests say whether it mutates
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
