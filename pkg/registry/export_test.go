package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
)

// Name returns the name of the feature gate.
func (g Gate) Name() string { return g.name }

// Since returns the first version of Kubernetes that has the feature gate on by default, or nil if there is none.
func (g Gate) Since() *version.Version { return g.since }

// Used reports whether a value has fields that belong to the feature gate.
func (g Gate) Used(value any) bool { return g.used(value) }

// Fields returns the paths of the fields that belong to the feature gate.
func (g Gate) Fields() [][]int {
	var paths [][]int
	for _, p := range g.fields {
		paths = append(paths, p)
	}
	return paths
}

// Gated returns the feature gates of the fields in the part of an object that the Shape finds.
func (s *Shape) Gated() []Gate { return s.gated }

// In returns the part of an object that the Shape finds, or nil if the object has no such part.
func (s *Shape) In(obj runtime.Object) any { return s.in(obj) }
