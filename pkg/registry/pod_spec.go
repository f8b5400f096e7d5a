package registry

import (
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodSpec is where objects of a kind have a pod's spec: their own, or that of the pods that
// are made from them. PodSpecOf makes one. The rules that hold for every pod's spec find it by this.
type PodSpec struct {
	path *field.Path
	in   func(runtime.Object) *corev1.PodSpec
}

// PodSpecOf is where kind T has a pod's spec: the dotted path is for messages, and in returns the
// spec, or nil if the object has none.
func PodSpecOf[T runtime.Object](path string, in func(T) *corev1.PodSpec) *PodSpec {
	names := strings.Split(path, ".")
	return &PodSpec{
		path: field.NewPath(names[0], names[1:]...),
		in:   func(obj runtime.Object) *corev1.PodSpec { return in(obj.(T)) },
	}
}

// privileged refuses privileged containers where the server doesn't allow them.
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

// DropGated drops from an object what is behind a gate that is off. An old object that is not nil
// may have such fields from a server where the gate was on: they stay, and can change.
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
