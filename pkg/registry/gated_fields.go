package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
)

// Gate is a feature gate of kube-apiserver, with the fields of a kind that depend on it. While the gate is off, a write
// can't set these fields, unless the stored object has them. GateOf and GateBy make a Gate.
type Gate struct {
	name string
	// since is the first version of Kubernetes that has the gate on by default. It is nil if the gate is off by
	// default in every version.
	since *version.Version
	// used reports whether a value has fields of the gate. drop removes these fields from a value. Both take a
	// pointer to the value.
	used func(value any) bool
	drop func(value any)
	// fields are the paths of the gate's fields, parsed by GateOf. A gate that GateBy has made has no paths.
	fields []fieldPath
}

// fieldPath is the path from a struct to a field: the index of the field in each struct on the way. The path leads
// through pointers, list items, map values and embedded structs.
type fieldPath []int

// OffByDefault is the value of GateOf's argument "since" for a gate that every version of Kubernetes has off by
// default.
const OffByDefault = ""

// GateOf returns a gate for fields of the type T. paths are dotted paths of Go field names. since is the first
// version of Kubernetes that has the gate on by default, such as "1.36", or OffByDefault.
func GateOf[T any](since, name string, paths ...string) Gate {
	g := Gate{name: name, since: parseSince(since)}
	for _, path := range paths {
		g.fields = append(g.fields, fieldPathOf[T](path))
	}
	g.used = func(value any) bool {
		used := false
		g.each(value, func(v reflect.Value) { used = used || !v.IsZero() })
		return used
	}
	g.drop = func(value any) { g.each(value, func(v reflect.Value) { v.SetZero() }) }
	return g
}

// GateBy returns a gate with functions of its own, for fields that can't simply be set to zero. used reports whether a
// value has fields of the gate. drop removes these fields from a value. since is as in GateOf.
func GateBy[T any](since, name string, used func(*T) bool, drop func(*T)) Gate {
	return Gate{
		name: name, since: parseSince(since),
		used: func(value any) bool { return used(value.(*T)) },
		drop: func(value any) { drop(value.(*T)) },
	}
}

func parseSince(since string) *version.Version {
	if since == OffByDefault {
		return nil
	}
	return version.MustParse(since)
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

// gatesOff returns the gates that are off by default in a version of Kubernetes. Nil stands for the newest version.
func gatesOff(gates []Gate, kubernetes *version.Version) []Gate {
	return slices.DeleteFunc(slices.Clone(gates), func(g Gate) bool {
		return g.since != nil && (kubernetes == nil || kubernetes.AtLeast(g.since))
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
		if was == nil || !gate.used(was) {
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
