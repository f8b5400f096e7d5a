package registry

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
)

// Default fills what a client left out of an object of one Go type. DefaultOf and DefaultLike
// make one. Each version of a kind has its own.
type Default struct {
	Object runtime.Object
	set    func(any)
	// like is the Go type whose defaults they are, if it isn't that of Object.
	like reflect.Type
}

// DefaultOf are the defaults of type T, where *T is an Object. Setting them twice changes
// nothing. Lists have their items defaulted where they are decoded.
func DefaultOf[T any](set func(*T)) Default {
	return Default{
		Object: any(new(T)).(runtime.Object),
		set:    func(obj any) { set(obj.(*T)) },
	}
}

// DefaultLike are the defaults of a version's type T that are those of another version's type H. The two
// types have the same fields in the same places, all the way down, which NewTable checks.
func DefaultLike[T, H any](set func(*H)) Default {
	return Default{
		Object: any(new(T)).(runtime.Object),
		set:    func(obj any) { set((*H)(unsafe.Pointer(obj.(*T)))) },
		like:   reflect.TypeFor[H](),
	}
}

// check reports defaults that are taken from a type of another shape.
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

// sameShape compares types field by field. Types that are compared already are in seen.
func sameShape(a, b reflect.Type, seen map[[2]reflect.Type]bool) error {
	pair := [2]reflect.Type{a, b}
	if a == b || seen[pair] {
		return nil
	}
	seen[pair] = true
	if a.Kind() != b.Kind() {
		return fmt.Errorf("%s is a %s, %s a %s", a, a.Kind(), b, b.Kind())
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
		return fmt.Errorf("%s is not %s", a, b)
	}
	return nil
}

func sameFields(a, b reflect.Type, seen map[[2]reflect.Type]bool) error {
	if a.NumField() != b.NumField() {
		return fmt.Errorf("%s has %d fields, %s %d", a, a.NumField(), b, b.NumField())
	}
	for i := range a.NumField() {
		f, g := a.Field(i), b.Field(i)
		if f.Name != g.Name || f.Offset != g.Offset {
			return fmt.Errorf("%s has field %s where %s has %s", a, f.Name, b, g.Name)
		}
		if err := sameShape(f.Type, g.Type, seen); err != nil {
			return err
		}
	}
	return nil
}
