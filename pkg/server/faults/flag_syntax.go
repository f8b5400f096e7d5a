package faults

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/fault"
)

// ParseText parses a fault in the form of the flag --fault: a list of KEY=VALUE, separated by commas. The keys are the
// JSON names of Fault's fields. The elements of a list are separated by |. A key of a boolean field may stand without a
// value.
func ParseText(text string) (Fault, error) {
	f := Fault{}
	seen := map[string]bool{}
	var errs []error
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		key, value, assigned := strings.Cut(strings.TrimSpace(part), "=")
		// The value of the key requests may contain commas, as in requests=1,3,5.
		if !assigned && last == "requests" && key != "" && strings.Trim(key, "0123456789-") == "" {
			f.Requests += fault.Numbers("," + key)
			continue
		}
		last = key
		if seen[key] {
			errs = append(errs, fmt.Errorf("%s: is given twice: give each key once", key))
		}
		seen[key] = true
		errs = append(errs, f.set(key, value, assigned))
	}
	if err := errors.Join(errs...); err != nil {
		return Fault{}, err
	}
	return f, f.validate()
}

// set sets the field of a key to a value in text form.
func (f *Fault) set(key, value string, assigned bool) error {
	field, ok := f.field(key)
	switch {
	case !ok && !assigned:
		return fmt.Errorf("key %q is unknown: a comma separates keys, so a list has | between its elements, as in verbs=get|list: the keys are %s", key, strings.Join(f.keys(), ", "))
	case !ok:
		return fmt.Errorf("key %q is unknown: must be one of %s", key, strings.Join(f.keys(), ", "))
	case !assigned && field.Kind() != reflect.Bool:
		return fmt.Errorf("%s: must have a value, as in %[1]s=VALUE", key)
	case assigned && value == "":
		return fmt.Errorf("%s: the value is empty: give a value after the =", key)
	}
	switch field.Kind() {
	case reflect.Bool:
		if assigned && value != "true" {
			return fmt.Errorf("%s %q: must be true, or the value must be left out", key, value)
		}
		field.SetBool(true)
	case reflect.String:
		field.SetString(value)
	case reflect.Slice:
		field.Set(reflect.ValueOf(strings.Split(value, "|")))
	case reflect.Float64:
		share, err := fault.ParseShare(value)
		if err != nil {
			return err
		}
		field.SetFloat(share)
	default: // the other fields are numbers or pointers to numbers
		number, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s %q: must be a number", key, value)
		}
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.ValueOf(&number))
		} else {
			field.SetInt(int64(number))
		}
	}
	return nil
}

// field returns the field whose JSON name is the key.
func (f *Fault) field(key string) (reflect.Value, bool) {
	index := slices.Index(f.keys(), key)
	if index < 0 {
		return reflect.Value{}, false
	}
	return reflect.ValueOf(f).Elem().Field(index), true
}

// keys returns the JSON names of all fields, in the order of the fields.
func (f *Fault) keys() []string {
	var keys []string
	for field := range reflect.TypeFor[Fault]().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys
}

// Text returns a fault in the form of the flag --fault, without the name.
func (f Fault) Text() string {
	var parts []string
	value := reflect.ValueOf(&f).Elem()
	for n, key := range f.keys() {
		field := value.Field(n)
		if key == "name" || field.IsZero() {
			continue
		}
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		switch v := field.Interface().(type) {
		case bool:
			parts = append(parts, key)
		case []string:
			parts = append(parts, key+"="+strings.Join(v, "|"))
		default:
			parts = append(parts, fmt.Sprintf("%s=%v", key, v))
		}
	}
	return strings.Join(parts, ",")
}
