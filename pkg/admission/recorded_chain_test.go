package admission

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// In the variable order, the row of each mutating plugin must list the resources whose objects the
// plugin may change. Otherwise a recording would show a change as made by a later step.
func TestChangesOfPluginsAreKnown(t *testing.T) {
	t.Parallel()
	served := map[string]bool{}
	for _, group := range builtin.Table().Groups() {
		for i := range group.Kinds {
			served[group.Kinds[i].Resource] = true
		}
	}
	c := &chain{options: NewOptions(), Dependencies: Dependencies{Informers: &informer.Factory{}}}
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
			t.Errorf("%s changes objects: %t. Its row lists resources: %t. A row must list the resources that a mutating plugin may change, as changes{\"pods\"}, and no other row may have a list", p.name, mutates, listed)
		}
		for _, resource := range p.changes {
			if !served[resource] {
				t.Errorf("%s: its row lists the resource %q, which no group of the table has", p.name, resource)
			}
		}
	}
}
