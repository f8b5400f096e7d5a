package registry

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// connectOptions are the options of subresources that come as query parameters.
func connectOptions() []runtime.Object {
	return []runtime.Object{
		&corev1.PodExecOptions{}, &corev1.PodAttachOptions{}, &corev1.PodPortForwardOptions{}, &corev1.PodLogOptions{},
		&corev1.PodProxyOptions{}, &corev1.ServiceProxyOptions{}, &corev1.NodeProxyOptions{},
	}
}

func addConnectOptions(s *runtime.Scheme) error {
	for _, o := range connectOptions() {
		if err := s.AddConversionFunc((*url.Values)(nil), o, func(in, out any, _ conversion.Scope) error {
			return decodeQuery(*in.(*url.Values), out)
		}); err != nil {
			return err
		}
	}
	return nil
}

// decodeQuery sets the fields of a struct from the query parameters of their JSON
// names. Parameters that the struct doesn't have are ignored, as the reference does.
func decodeQuery(query url.Values, out any) error {
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

// decodeValues reads the values of a parameter into a field. Its errors are what clients see.
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
		return fmt.Errorf("a %T can't be given as a query parameter", field)
	}
	return nil
}
