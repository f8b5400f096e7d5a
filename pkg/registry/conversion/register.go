package conversion

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// function converts from one Go type to another.
type function struct {
	from, to any // nil pointers
	convert  conversion.ConversionFunc
}

// Register adds to the scheme the conversions between hub types and those of every
// other version, objects and lists. For each type that the scheme knows already it
// adds a plain copy: the types of a hub stand for two versions, and admission
// converts between these as between any two.
func Register(s *runtime.Scheme) error {
	all, err := functions()
	if err != nil {
		return err
	}
	for _, t := range s.AllKnownTypes() {
		all = append(all, identity(t))
	}
	for _, f := range all {
		if err := s.AddConversionFunc(f.from, f.to, f.convert); err != nil {
			return fmt.Errorf("registering the conversion of %T to %T: %w", f.from, f.to, err)
		}
	}
	return nil
}

// functions returns all conversions between versions; the later of two for the same
// types counts.
func functions() ([]function, error) {
	kinds, err := pairs()
	if err != nil {
		return nil, err
	}
	var all []function
	for _, p := range kinds {
		all = append(all, same(p.spoke, p.hub), same(p.hub, p.spoke))
	}
	return slices.Concat(all,
		appsFunctions(), authorizationFunctions(), autoscalingFunctions(), discoveryFunctions(),
		eventFunctions(), flowcontrolFunctions(), ingressFunctions(), nodeFunctions(),
		policyFunctions(), rbacFunctions(), resourceFunctions(), scaleFunctions()), nil
}

// same converts between types with the same JSON, and lists item by item.
func same(from, to reflect.Type) function {
	f := function{from: reflect.Zero(reflect.PointerTo(from)).Interface(), to: reflect.Zero(reflect.PointerTo(to)).Interface()}
	if _, isList := from.FieldByName("Items"); isList {
		f.convert = convertList
		return f
	}
	f.convert = func(in, out any, _ conversion.Scope) error {
		fresh := reflect.New(to)
		if err := copyFields(in, fresh.Interface()); err != nil {
			return err
		}
		assign(out, fresh.Interface())
		return nil
	}
	return f
}

// identity copies an object to another of its type, as it is.
func identity(t reflect.Type) function {
	p := reflect.Zero(reflect.PointerTo(t)).Interface()
	return function{from: p, to: p, convert: func(in, out any, _ conversion.Scope) error {
		assign(out, in)
		return nil
	}}
}

// renamed is for types whose JSON differs in places: the fields of the same names
// are copied, and adjust does the rest. What it sets may share memory with in.
func renamed[In, Out any](adjust func(in *In, out *Out) error) function {
	return different(func(in *In, out *Out) error {
		if err := copyFields(in, out); err != nil {
			return err
		}
		return adjust(in, out)
	})
}

// different is for types which have little in common: convert fills an empty out.
func different[In, Out any](convert func(in *In, out *Out) error) function {
	return function{from: (*In)(nil), to: (*Out)(nil), convert: func(in, out any, _ conversion.Scope) error {
		var fresh Out
		if err := convert(in.(*In), &fresh); err != nil {
			return fmt.Errorf("converting %T to %T: %w", in, out, err)
		}
		assign(out, &fresh)
		return nil
	}}
}
