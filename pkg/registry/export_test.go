package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/featuregate"
)

// Features returns the names of the feature gates.
func (g Gate) Features() []featuregate.Feature { return g.features }

// Used reports whether a value has fields that belong to the gate.
func (g Gate) Used(value any) bool { return g.used(value) }

// Fields returns the paths of the fields that belong to the gate.
func (g Gate) Fields() [][]int {
	var paths [][]int
	for _, p := range g.fields {
		paths = append(paths, p)
	}
	return paths
}

// KeptOnCreate reports whether a new object keeps the gate's fields while the gate is off. KeptOnUpdate reports it for
// an update of an object without the fields.
func (g Gate) KeptOnCreate() bool { return g.keptOnCreate }
func (g Gate) KeptOnUpdate() bool { return g.keptOnUpdate }

// Gated returns the gates of the fields in the part of an object that the Shape finds.
func (s *Shape) Gated() []Gate { return s.gated }

// In returns the part of an object that the Shape finds, or nil if the object has no such part.
func (s *Shape) In(obj runtime.Object) any { return s.in(obj) }
