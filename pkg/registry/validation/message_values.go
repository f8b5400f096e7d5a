package validation

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
)

// Unversioned wraps a rejected value, so that a message shows it in the same form as kube-apiserver's message.
//
// kube-apiserver validates internal types, which have no JSON names. Therefore, structs of k8s.io/api are written
// with Go field names, including empty fields. Types of k8s.io/apimachinery have JSON names in kube-apiserver too,
// and are written with them.
func Unversioned(value any) any {
	if !hasAPIStruct(reflect.TypeOf(value)) {
		return value
	}
	return internalValue{value}
}

// Difference returns the changes from one value to another, in the form of kube-apiserver's messages.
func Difference(was, now any) string { return diff.Diff(Unversioned(was), Unversioned(now)) }

type internalValue struct{ value any }

func (v internalValue) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := writeInternal(&b, reflect.ValueOf(v.value)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func isAPIStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/api/")
}

func hasAPIStruct(t reflect.Type) bool {
	for t != nil {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
			t = t.Elem()
		default:
			return isAPIStruct(t)
		}
	}
	return false
}

func writeInternal(b *bytes.Buffer, v reflect.Value) error {
	switch {
	case !v.IsValid():
		b.WriteString("null")
		return nil
	case isAPIStruct(v.Type()):
		return writeFields(b, v)
	case !hasAPIStruct(v.Type()):
		data, err := json.Marshal(v.Interface())
		b.Write(data)
		return err
	}
	if v.Kind() != reflect.Array && v.IsNil() {
		b.WriteString("null")
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		return writeInternal(b, v.Elem())
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		return writeList(b, '{', '}', len(keys), func(i int) error {
			return writeMember(b, keys[i].String(), v.MapIndex(keys[i]))
		})
	default:
		return writeList(b, '[', ']', v.Len(), func(i int) error { return writeInternal(b, v.Index(i)) })
	}
}

// writeFields writes the fields of a struct. Like encoding/json, it writes the fields of an embedded struct without
// a JSON name as fields of the outer struct. An object of an internal type names no version and no kind.
func writeFields(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	first := true
	separate := func() {
		if !first {
			b.WriteByte(',')
		}
		first = false
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue
		}
		if !f.Anonymous {
			separate()
			if err := writeMember(b, f.Name, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		var inner bytes.Buffer
		if err := writeInternal(&inner, v.Field(i)); err != nil {
			return err
		}
		if members := bytes.Trim(inner.Bytes(), "{}"); len(members) > 0 {
			separate()
			b.Write(inner.Bytes()[1 : inner.Len()-1])
		}
	}
	b.WriteByte('}')
	return nil
}

// writeMember writes a member of a JSON object. Structs of k8s.io/api in the value have Go field names, as in
// kube-apiserver's messages.
func writeMember(b *bytes.Buffer, name string, v reflect.Value) error {
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	b.Write(key)
	b.WriteByte(':')
	return writeInternal(b, v)
}

// writeList writes n items in brackets, as a JSON array or as the members of a JSON object.
func writeList(b *bytes.Buffer, open, end byte, n int, write func(int) error) error {
	b.WriteByte(open)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := write(i); err != nil {
			return err
		}
	}
	b.WriteByte(end)
	return nil
}
