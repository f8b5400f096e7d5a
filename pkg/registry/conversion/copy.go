package conversion

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// CopyFields copies what has the same name in JSON, over what out has already.
func CopyFields(in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", in, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decoding %T as %T: %w", in, out, err)
	}
	return nil
}

// assign makes out a shallow copy of in, of the same type. The group, version and
// kind stay out's own: who asked for the conversion sets them.
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

// convertList converts a list, and each item by the function for its type.
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
