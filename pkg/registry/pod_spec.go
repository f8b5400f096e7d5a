package registry

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
)

// PodSpec locates the pod's spec in objects of a kind. The spec is the object's own or that of a pod template. Rules
// for every pod's spec use it. PodSpecOf makes one.
type PodSpec struct {
	path *field.Path
	in   func(runtime.Object) *corev1.PodSpec
}

// PodSpecOf locates the pod's spec in kind T. The dotted path is for messages. The function in returns the spec, or nil
// if the object has none.
func PodSpecOf[T runtime.Object](path string, in func(T) *corev1.PodSpec) *PodSpec {
	names := strings.Split(path, ".")
	return &PodSpec{
		path: field.NewPath(names[0], names[1:]...),
		in:   func(obj runtime.Object) *corev1.PodSpec { return in(obj.(T)) },
	}
}

// privileged refuses privileged containers on a server that doesn't allow them.
func (s Strategy) privileged(obj runtime.Object) field.ErrorList {
	p := s.Kind.PodSpec
	if s.deps.AllowPrivileged || p == nil {
		return nil
	}
	spec := p.in(obj)
	if spec == nil {
		return nil
	}
	return podvalidation.Privileged(p.path, spec)
}

// DropGated removes the fields of gates that are off from an object. If the old object isn't nil and uses a gate,
// because an older server had the gate on, its fields stay and can change.
func (s Strategy) DropGated(obj, old runtime.Object) {
	for _, gate := range s.gates {
		if old == nil || !gate.used(old) {
			gate.drop(obj)
		}
	}
	p := s.Kind.PodSpec
	if p == nil {
		return
	}
	var was *corev1.PodSpec
	if old != nil {
		was = p.in(old)
	}
	if spec := p.in(obj); spec != nil {
		dropGated(spec, was, s.podGates)
	}
}
