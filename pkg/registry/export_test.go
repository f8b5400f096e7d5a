package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
)

// PodGates are the gates of pods' specs.
var PodGates = podGates

// Name is the gate's name.
func (g Gate) Name() string { return g.name }

// Since is the first version of Kubernetes with the gate on.
func (g Gate) Since() *version.Version { return g.since }

// Used tells whether a value uses the gate.
func (g Gate) Used(value any) bool { return g.used(value) }

// Fields are the paths of the fields behind the gate.
func (g Gate) Fields() [][]int {
	var paths [][]int
	for _, p := range g.fields {
		paths = append(paths, p)
	}
	return paths
}

// In returns the spec of a pod in an object.
func (p *PodSpec) In(obj runtime.Object) any { return p.in(obj) }
