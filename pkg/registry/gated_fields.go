package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

// Gate has the fields of a kind that depend on a feature gate of kube-apiserver. While the feature gate is off, a write
// can't set these fields, unless the stored object has them. GateOf and GateBy make a Gate.
type Gate struct {
	// features are the names of the feature gates. All of them must be on.
	features []featuregate.Feature
	// used reports whether a value has fields of the gate. drop removes these fields from a value. Both take a
	// pointer to the value.
	used func(value any) bool
	drop func(value any)
	// fields are the paths of the gate's fields.
	fields []fieldPath
	// keptOnCreate and keptOnUpdate are true if such a write keeps the fields while the gate is off.
	keptOnCreate, keptOnUpdate bool
}

// fieldPath is the path from a struct to a field: the index of the field in each struct on the way. The path leads
// through pointers, list items, map values and embedded structs.
type fieldPath []int

// GateOf returns a gate for fields of the type T. feature is the name of the feature gate. paths are dotted paths of Go
// field names.
func GateOf[T any](feature featuregate.Feature, paths ...string) Gate {
	g := Gate{features: []featuregate.Feature{feature}, fields: fieldPathsOf[T](paths)}
	g.used = func(value any) bool {
		used := false
		g.each(value, func(v reflect.Value) { used = used || !v.IsZero() })
		return used
	}
	g.drop = func(value any) { g.each(value, func(v reflect.Value) { v.SetZero() }) }
	return g
}

// GateBy returns a gate with functions of its own, for fields that can't simply be set to zero. used reports whether a
// value has fields of the gate. drop removes these fields from a value. paths are those of the fields of which each alone
// counts as a use.
func GateBy[T any](feature featuregate.Feature, used func(*T) bool, drop func(*T), paths ...string) Gate {
	return Gate{
		features: []featuregate.Feature{feature},
		fields:   fieldPathsOf[T](paths),
		used:     func(value any) bool { return used(value.(*T)) },
		drop:     func(value any) { drop(value.(*T)) },
	}
}

// InUse returns a gate for the same fields, which also stay if the stored object has fields of another gate.
func (g Gate) InUse(other Gate) Gate {
	used := g.used
	g.used = func(value any) bool { return used(value) || other.used(value) }
	return g
}

// OnCreate returns a gate for the same fields that drops them only from new objects.
func (g Gate) OnCreate() Gate {
	g.keptOnUpdate = true
	return g
}

// OnUpdate returns a gate for the same fields that drops them only in updates.
func (g Gate) OnUpdate() Gate {
	g.keptOnCreate = true
	return g
}

// And returns a gate for the same fields that is off while the feature gate is off, too.
func (g Gate) And(feature featuregate.Feature) Gate {
	g.features = append(slices.Clone(g.features), feature)
	return g
}

func fieldPathsOf[T any](paths []string) []fieldPath {
	var fields []fieldPath
	for _, path := range paths {
		fields = append(fields, fieldPathOf[T](path))
	}
	return fields
}

func fieldPathOf[T any](path string) fieldPath {
	var fields fieldPath
	t := reflect.TypeFor[T]()
	for name := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		field, ok := t.FieldByName(name)
		if !ok {
			utilruntime.Must(fmt.Errorf("gated field %q: type %s has no field %s", path, t, name))
		}
		fields, t = append(fields, field.Index...), field.Type
	}
	return fields
}

// gatesOff returns the gates that are off.
func gatesOff(gates []Gate, features featuregate.FeatureGate) []Gate {
	return slices.DeleteFunc(slices.Clone(gates), func(g Gate) bool {
		return !slices.ContainsFunc(g.features, func(f featuregate.Feature) bool { return !features.Enabled(f) })
	})
}

// DropGated removes the fields of gates that are off from an object. The argument "old" is the stored object, or
// nil on create. If the stored object has fields of a gate, because an earlier server had the gate on, the fields
// of this gate stay and can change.
func (s Strategy) DropGated(obj, old runtime.Object) {
	drop(obj, old, s.gates)
	shape := s.Kind.Shape
	if shape == nil {
		return
	}
	var was any
	if old != nil {
		was = shape.in(old)
	}
	if part := shape.in(obj); part != nil {
		drop(part, was, s.shapeGates)
	}
}

// drop removes the fields of the gates in "off" from the new value "now". If the stored value "was" has fields of a
// gate, the fields of this gate stay. "was" is nil on create.
func drop(now, was any, off []Gate) {
	for _, gate := range off {
		kept := gate.keptOnCreate
		if was != nil {
			kept = gate.keptOnUpdate || gate.used(was)
		}
		if !kept {
			gate.drop(now)
		}
	}
}

// each calls f with every field of the gate in a value.
func (g Gate) each(value any, f func(reflect.Value)) {
	for _, path := range g.fields {
		path.each(reflect.ValueOf(value), f)
	}
}

func (p fieldPath) each(v reflect.Value, f func(reflect.Value)) {
	if len(p) == 0 {
		f(v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.each(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.each(v.Index(i), f)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			before := v.MapIndex(key)
			item := reflect.New(v.Type().Elem()).Elem() // a value in a map can't be changed in place
			item.Set(before)
			p.each(item, f)
			// Other goroutines may read the same map, so this method writes to the map only if the item has
			// changed.
			if !reflect.DeepEqual(before.Interface(), item.Interface()) {
				v.SetMapIndex(key, item)
			}
		}
	default:
		p[1:].each(v.Field(p[0]), f)
	}
}
