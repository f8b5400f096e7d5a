package registry

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
)

// Default has the function that sets the defaults of one Go type. Each version of a kind has a Default of its own.
// DefaultOf and DefaultLike make it.
type Default struct {
	Object runtime.Object
	set    func(any)
	// like is the type H of DefaultLike: the Go type for which the function was written. It is nil for a Default of
	// DefaultOf.
	like reflect.Type
}

// DefaultOf returns the Default of the type T. *T must implement runtime.Object. set must change nothing when it is
// called a second time, because the server also calls it for stored objects.
func DefaultOf[T any](set func(*T)) Default {
	return Default{
		Object: any(new(T)).(runtime.Object),
		set:    func(obj any) { set(obj.(*T)) },
	}
}

// DefaultLike returns the Default of the type T. set is a function for the type H, which is another version of the
// same kind. Both types must have the same fields in the same order, at every depth. NewTable checks the fields.
func DefaultLike[T, H any](set func(*H)) Default {
	return Default{
		Object: any(new(T)).(runtime.Object),
		set:    func(obj any) { set((*H)(unsafe.Pointer(obj.(*T)))) },
		like:   reflect.TypeFor[H](),
	}
}

// check returns an error if a Default comes from DefaultLike and its two types don't have the same fields.
func (d Default) check() error {
	if d.like == nil {
		return nil
	}
	of := reflect.TypeOf(d.Object).Elem()
	if err := sameShape(of, d.like, map[[2]reflect.Type]bool{}); err != nil {
		return fmt.Errorf("%s can't have the defaults of %s: %w", of, d.like, err)
	}
	return nil
}

// sameShape compares two types field by field. seen has the pairs of types that have been compared already.
func sameShape(a, b reflect.Type, seen map[[2]reflect.Type]bool) error {
	pair := [2]reflect.Type{a, b}
	if a == b || seen[pair] {
		return nil
	}
	seen[pair] = true
	if a.Kind() != b.Kind() {
		return fmt.Errorf("type %s is a %s, and type %s is a %s", a, a.Kind(), b, b.Kind())
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice:
		return sameShape(a.Elem(), b.Elem(), seen)
	case reflect.Map:
		if err := sameShape(a.Key(), b.Key(), seen); err != nil {
			return err
		}
		return sameShape(a.Elem(), b.Elem(), seen)
	case reflect.Struct:
		return sameFields(a, b, seen)
	case reflect.Array, reflect.Chan, reflect.Func, reflect.Interface:
		return fmt.Errorf("type %s and type %s are different %s types, and must be the same type", a, b, a.Kind())
	}
	return nil
}

func sameFields(a, b reflect.Type, seen map[[2]reflect.Type]bool) error {
	if a.NumField() != b.NumField() {
		return fmt.Errorf("type %s has %d fields, and type %s has %d", a, a.NumField(), b, b.NumField())
	}
	for i := range a.NumField() {
		f, g := a.Field(i), b.Field(i)
		if f.Name != g.Name || f.Offset != g.Offset {
			return fmt.Errorf("type %s has the field %s where type %s has %s", a, f.Name, b, g.Name)
		}
		if err := sameShape(f.Type, g.Type, seen); err != nil {
			return err
		}
	}
	return nil
}
