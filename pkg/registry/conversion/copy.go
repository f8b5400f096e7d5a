package conversion

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// CopyFields copies the fields that have the same JSON names in both structs, except for empty fields that JSON
// omits. All other fields of out keep their values. It copies metadata with its empty fields: an empty list of managed
// fields is a request to reset them.
func CopyFields(in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", in, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decoding %T as %T: %w", in, out, err)
	}
	if from, to := metadata(in), metadata(out); from != nil && to != nil {
		from.DeepCopyInto(to)
	}
	return nil
}

// metadata returns the metadata of an object, or nil if the value has none.
func metadata(of any) *metav1.ObjectMeta {
	accessor, ok := of.(metav1.ObjectMetaAccessor)
	if !ok {
		return nil
	}
	m, _ := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	return m
}

// fieldsWithout returns the fields of a struct, and of its nested structs, that don't exist in another struct. Fields
// are compared by their JSON names.
func fieldsWithout(t, other reflect.Type) [][]int {
	if t == other {
		return nil
	}
	counterparts := map[string]reflect.Type{}
	for f := range other.Fields() {
		counterparts[jsonName(f)] = f.Type
	}
	var without [][]int
	for f := range t.Fields() {
		counterpart, ok := counterparts[jsonName(f)]
		switch {
		case !ok:
			without = append(without, f.Index)
		case f.Type.Kind() == reflect.Struct && counterpart.Kind() == reflect.Struct:
			for _, inner := range fieldsWithout(f.Type, counterpart) {
				without = append(without, slices.Concat(f.Index, inner))
			}
		}
	}
	return without
}

// jsonName returns the JSON name of a field. For an embedded struct without a JSON name, it returns the Go name.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, f.Name)
}

// assign sets out to a shallow copy of in. Both have the same type. out keeps its apiVersion and kind, which the
// caller of the conversion sets.
func assign(out, in any) {
	obj, isObject := out.(runtime.Object)
	if !isObject {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(in).Elem())
		return
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(in).Elem())
	obj.GetObjectKind().SetGroupVersionKind(gvk)
}

// convertList converts a list. It converts each item by the conversion function for the item's type.
func convertList(in, out any, scope conversion.Scope) error {
	from, to := reflect.ValueOf(in).Elem(), reflect.ValueOf(out).Elem()
	to.FieldByName("ListMeta").Set(from.FieldByName("ListMeta"))
	items, converted := from.FieldByName("Items"), to.FieldByName("Items")
	if items.IsNil() {
		converted.SetZero()
		return nil
	}
	converted.Set(reflect.MakeSlice(converted.Type(), items.Len(), items.Len()))
	for i := range items.Len() {
		if err := scope.Convert(items.Index(i).Addr().Interface(), converted.Index(i).Addr().Interface()); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}
