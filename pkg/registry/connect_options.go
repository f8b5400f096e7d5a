package registry

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
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
		values, given := query[name]
		if name == "" || !given || len(values) == 0 {
			continue
		}
		if err := decodeValues(values, v.Field(i)); err != nil {
			return fmt.Errorf("query parameter %q: %w", name, err)
		}
	}
	return nil
}

func decodeValues(values []string, field reflect.Value) error {
	if field.Kind() == reflect.Slice {
		field.Set(reflect.MakeSlice(field.Type(), len(values), len(values)))
		for i, s := range values {
			if err := decodeValue(s, field.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return decodeValue(values[0], field)
}

func decodeValue(s string, field reflect.Value) error {
	if field.Type() == reflect.TypeFor[*metav1.Time]() {
		t := &metav1.Time{}
		if err := t.UnmarshalQueryParameter(s); err != nil {
			return err
		}
		field.Set(reflect.ValueOf(t))
		return nil
	}
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		return decodeValue(s, field.Elem())
	case reflect.String:
		field.SetString(s)
	case reflect.Bool:
		// "?stdin", "?stdin=1" and "?stdin=yes" are all true, as in metav1's own conversion.
		field.SetBool(s != "false" && s != "0")
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, field.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q is not a number: %w", s, err)
		}
		field.SetInt(n)
	default:
		return fmt.Errorf("a %s can't be given as a query parameter", field.Type())
	}
	return nil
}
