package registry

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Shape finds a part of the same Go type in objects of a kind, for example the pod spec in a Deployment. The rules of
// the part are the same for all kinds that have the part. ShapeOf makes a Shape.
type Shape struct {
	path *field.Path
	// in returns a pointer to the part of an object, or nil if the object has no such part.
	in       func(runtime.Object) any
	gated    []Gate
	validate func(Dependencies, *field.Path, any) field.ErrorList
}

// ShapeRules are the rules of a part of the type P.
type ShapeRules[P any] struct {
	// Gated are the fields of the part that depend on feature gates of kube-apiserver.
	Gated []Gate
	// Validate checks the part, in addition to the validation of the kind. It is required.
	Validate func(Dependencies, *field.Path, *P) field.ErrorList
}

// ShapeOf returns the Shape of the kind T with a part of the type P. The argument "path" is the dotted path of the
// part, for messages. The argument "in" returns the part of an object, or nil if the object has none.
func ShapeOf[T runtime.Object, P any](rules ShapeRules[P], path string, in func(T) *P) *Shape {
	names := strings.Split(path, ".")
	return &Shape{
		path: field.NewPath(names[0], names[1:]...),
		in: func(obj runtime.Object) any {
			if part := in(obj.(T)); part != nil {
				return part
			}
			return nil
		},
		gated: rules.Gated,
		validate: func(deps Dependencies, path *field.Path, part any) field.ErrorList {
			return rules.Validate(deps, path, part.(*P))
		},
	}
}

// ValidateShape returns the errors of the rules of the kind's Shape.
func (s Strategy) ValidateShape(obj runtime.Object) field.ErrorList {
	shape := s.Kind.Shape
	if shape == nil {
		return nil
	}
	part := shape.in(obj)
	if part == nil {
		return nil
	}
	return shape.validate(s.deps, shape.path, part)
}
