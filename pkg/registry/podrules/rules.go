// Package podrules has the rules that hold for the pod specs of all kinds: of pods and of pod templates. A kind with a
// pod spec names the rules in the field Shape of its row. The rest of the validation of pod specs is in podvalidation.
package podrules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
)

// ShapeOf returns the Shape of the kind T, which has a pod spec. The argument "path" is the dotted path of the pod
// spec, for messages. The argument "in" returns the pod spec of an object, or nil if the object has none.
func ShapeOf[T runtime.Object](path string, in func(T) *corev1.PodSpec) *registry.Shape {
	return registry.ShapeOf(registry.ShapeRules[corev1.PodSpec]{Gated: gates, Validate: validate}, path, in)
}

// validate returns errors for privileged containers, and for Windows containers that run as processes of the host, if
// the server doesn't allow privileged containers.
func validate(deps registry.Dependencies, path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	if deps.AllowPrivileged {
		return nil
	}
	return podvalidation.Privileged(path, spec)
}
