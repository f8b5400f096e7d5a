package informer

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxFamilies bounds the number of controllers whose last objects a sharing keeps.
const maxFamilies = 100

// sharing implements Informer.Sharing. An informer's objects are never changed, so parts of them may be shared.
type sharing map[types.UID]metav1.Object // the last object of each controller

// join replaces the parts of an object that are equal to those of the last object with the same controller.
func (s sharing) join(object any) {
	o, ok := object.(metav1.Object)
	if !ok {
		return
	}
	controller := metav1.GetControllerOfNoCopy(o)
	if controller == nil {
		return
	}
	o.SetManagedFields(nil)
	last := s[controller.UID]
	if v, like := reflect.ValueOf(o), reflect.ValueOf(last); last != nil && v.Type() == like.Type() && v.Kind() == reflect.Pointer {
		share(v.Elem(), like.Elem())
	}
	if last == nil && len(s) >= maxFamilies {
		clear(s)
	}
	s[controller.UID] = o
}

// share reports whether two values are equal. If they are, v gets the memory of like. Otherwise the parts of v that are
// equal get it, and slices of v that differ lose the room that decoding has left in them.
func share(v, like reflect.Value) (equal bool) {
	switch v.Kind() {
	case reflect.String:
		equal = v.String() == like.String()
	case reflect.Pointer:
		equal = v.IsNil() && like.IsNil() || !v.IsNil() && !like.IsNil() && share(v.Elem(), like.Elem())
	case reflect.Slice:
		equal = shareElements(v, like)
	case reflect.Struct:
		if !isOpen(v.Type()) {
			return reflect.DeepEqual(v.Addr().Interface(), like.Addr().Interface())
		}
		equal = true
		for i := range v.NumField() {
			equal = share(v.Field(i), like.Field(i)) && equal
		}
		return equal // the fields have been replaced
	default:
		equal = reflect.DeepEqual(v.Addr().Interface(), like.Addr().Interface())
	}
	if equal {
		v.Set(like)
	}
	return equal
}

func shareElements(v, like reflect.Value) (equal bool) {
	if v.IsNil() || like.IsNil() {
		return v.IsNil() && like.IsNil()
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(v.Bytes(), like.Bytes())
	}
	equal = v.Len() == like.Len()
	for i := range min(v.Len(), like.Len()) {
		equal = share(v.Index(i), like.Index(i)) && equal
	}
	if !equal && v.Cap() > v.Len() {
		exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(exact, v)
		v.Set(exact)
	}
	return equal
}

// isOpen reports whether all fields of a struct are exported. Those of a time or of a quantity aren't.
func isOpen(t reflect.Type) bool {
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return false
		}
	}
	return true
}
