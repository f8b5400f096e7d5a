package registry

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// addQuery registers the decoding of query parameters into the options of a subresource. If options is nil, it does
// nothing.
func addQuery(s *runtime.Scheme, options runtime.Object) error {
	if options == nil {
		return nil
	}
	return s.AddConversionFunc((*url.Values)(nil), options, func(in, out any, _ conversion.Scope) error {
		return DecodeQuery(*in.(*url.Values), out)
	})
}

// DecodeQuery sets each field of a struct from the query parameter with the JSON name of the field. It ignores
// other parameters, as in kube-apiserver.
func DecodeQuery(query url.Values, out any) error {
	v := reflect.ValueOf(out).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		values := query[name]
		if name == "" || len(values) == 0 {
			continue
		}
		if err := decodeValues(values, v.Field(i).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// decodeValues converts the values of a parameter to the type of a field. The server sends the errors of decodeValues
// to clients.
func decodeValues(values []string, field any) error {
	switch field := field.(type) {
	case *string:
		*field = values[0]
	case **string:
		*field = &values[0]
	case *[]string:
		*field = slices.Clone(values)
	case *bool:
		return runtime.Convert_Slice_string_To_bool(&values, field, nil)
	case **int64:
		return runtime.Convert_Slice_string_To_Pointer_int64(&values, field, nil)
	case *[]int32:
		return metav1.Convert_Slice_string_To_Slice_int32(&values, field, nil)
	case **metav1.Time:
		return metav1.Convert_Slice_string_To_Pointer_v1_Time(&values, field, nil)
	default:
		return fmt.Errorf("a query parameter can't set a field of type %s", reflect.TypeOf(field).Elem())
	}
	return nil
}
