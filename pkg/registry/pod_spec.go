package registry

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
)

// PodSpec finds the pod spec in objects of a kind: the spec of a pod, or the spec in a pod template. The rules that
// apply to the pod specs of all kinds use it. PodSpecOf makes a PodSpec.
type PodSpec struct {
	path *field.Path
	in   func(runtime.Object) *corev1.PodSpec
}

// PodSpecOf returns the PodSpec of the kind T. The argument "path" is the dotted path of the pod spec, for
// messages. The argument "in" returns the pod spec of an object, or nil if the object has none.
func PodSpecOf[T runtime.Object](path string, in func(T) *corev1.PodSpec) *PodSpec {
	names := strings.Split(path, ".")
	return &PodSpec{
		path: field.NewPath(names[0], names[1:]...),
		in:   func(obj runtime.Object) *corev1.PodSpec { return in(obj.(T)) },
	}
}

// privileged returns errors for privileged containers, if the server doesn't allow them.
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

// DropGated removes the fields of gates that are off from an object. The argument "old" is the stored object, or
// nil on create. If the stored object has fields of a gate, because an earlier server had the gate on, the fields
// of this gate stay and can change.
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
