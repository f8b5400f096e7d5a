package testfile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Error is an error at a place of a file.
type Error struct {
	// File and Line are the place. Field is the path of the field, such as cases[2].expect, or "".
	File  string
	Line  int
	Field string
	Err   error
}

// Error implements error.
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns the error without its place.
func (e *Error) Unwrap() error { return e.Err }

// decoder decodes YAML into the types of this package. Unlike encoding/json, it refuses unknown fields and values of
// other types with the line and the path of the field.
type decoder struct {
	file string
	// lines gets the lines of the fields by their paths.
	lines map[string]int
	// aliased are the anchors whose aliases are being decoded.
	aliased map[*yaml.Node]bool
}

func (d *decoder) fail(node *yaml.Node, field, format string, args ...any) error {
	return &Error{d.file, node.Line, field, fmt.Errorf(format, args...)}
}

var objectType = reflect.TypeOf(Object{})

// value decodes a node into a value. The argument field is the path of the value.
func (d *decoder) value(node *yaml.Node, field string, into reflect.Value) error {
	d.lines[field] = node.Line
	if node.Kind == yaml.AliasNode {
		anchor := node.Alias
		if d.aliased[anchor] {
			return d.fail(node, field, "the value of the anchor %s contains itself", anchor.Anchor)
		}
		d.aliased[anchor] = true
		defer delete(d.aliased, anchor)
		node = anchor
	}
	switch {
	case into.Type() == objectType:
		return d.object(node, field, into.Addr().Interface().(*Object))
	case into.Kind() == reflect.Pointer:
		made := reflect.New(into.Type().Elem())
		into.Set(made)
		return d.value(node, field, made.Elem())
	case into.Kind() == reflect.Struct:
		return d.fields(node, field, into)
	case into.Kind() == reflect.Slice:
		return d.list(node, field, into)
	case into.Kind() == reflect.Map:
		return d.entries(node, field, into)
	case into.Kind() == reflect.Interface:
		return d.any(node, field, into)
	}
	return d.scalar(node, field, into)
}

// any decodes a value of any type, as JSON has it.
func (d *decoder) any(node *yaml.Node, field string, into reflect.Value) error {
	quoteTimes(node)
	var value any
	if err := node.Decode(&value); err != nil {
		return d.fail(node, field, "%w", err)
	}
	value, err := asJSON(value)
	if err != nil {
		return d.fail(node, field, "%w", err)
	}
	if value != nil {
		into.Set(reflect.ValueOf(value))
	}
	return nil
}

// quoteTimes makes texts of the times in a node, because JSON has no times.
func quoteTimes(node *yaml.Node) {
	if node.Tag == "!!timestamp" {
		node.Tag = "!!str"
	}
	for _, inner := range node.Content {
		quoteTimes(inner)
	}
}

// asJSON converts a value that yaml.v3 has decoded into the types that unstructured objects have.
func asJSON(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		for key, element := range v {
			converted, err := asJSON(element)
			if err != nil {
				return nil, err
			}
			v[key] = converted
		}
	case map[any]any:
		for key := range v {
			if _, isText := key.(string); !isText {
				return nil, fmt.Errorf("the key %v must be a string: put it in quotes", key)
			}
		}
	case []any:
		for i, element := range v {
			converted, err := asJSON(element)
			if err != nil {
				return nil, err
			}
			v[i] = converted
		}
	case int:
		return int64(v), nil
	}
	return value, nil
}

func (d *decoder) object(node *yaml.Node, field string, into *Object) error {
	into.Line = node.Line
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!str" && node.Value != "":
		into.Path = node.Value
		return nil
	case node.Kind != yaml.MappingNode:
		return d.fail(node, field, "must be the path of a file, or an object with apiVersion and kind, got %s", kindOf(node))
	}
	fields := map[string]any{}
	if err := d.entries(node, field, reflect.ValueOf(&fields).Elem()); err != nil {
		return err
	}
	into.Inline = &unstructured.Unstructured{Object: fields}
	return nil
}

// fields decodes the fields of a struct.
func (d *decoder) fields(node *yaml.Node, field string, into reflect.Value) error {
	if line := into.FieldByName("Line"); line.IsValid() {
		line.SetInt(int64(node.Line))
	}
	known := fieldsOf(into.Type())
	if node.Kind != yaml.MappingNode {
		for _, f := range known {
			if f.short && node.Kind == yaml.ScalarNode {
				return d.field(node, field, f, into)
			}
		}
		return d.fail(node, field, "must be a map with %s, got %s", names(known), kindOf(node))
	}
	set := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := slices.IndexFunc(known, func(f structField) bool { return f.name == key.Value })
		if at < 0 {
			return d.fail(key, child(field, key.Value), "unknown field%s: must be one of %s", nearest(key.Value, known), names(known))
		}
		if set[key.Value] {
			return d.fail(key, child(field, key.Value), "the field is given twice: give it once")
		}
		set[key.Value] = true
		if err := d.field(value, child(field, key.Value), known[at], into); err != nil {
			return err
		}
	}
	for _, f := range known {
		if f.required && !set[f.name] {
			return d.fail(node, child(field, f.name), "must be set")
		}
	}
	return nil
}

// field decodes the value of a field, and checks it against the field's tags.
func (d *decoder) field(node *yaml.Node, path string, f structField, into reflect.Value) error {
	value := into.FieldByIndex(f.index)
	if node.Tag == "!!null" && f.name != "with" {
		return d.fail(node, path, "must have a value: leave the field out, or give it one")
	}
	if err := d.value(node, path, value); err != nil {
		return err
	}
	if f.enum != nil && !slices.Contains(f.enum, value.String()) {
		return d.fail(node, path, "%q: must be %s", value.String(), strings.Join(f.enum, " or "))
	}
	if f.required && value.Kind() != reflect.Struct && value.IsZero() {
		return d.fail(node, path, "must not be empty")
	}
	return nil
}

func (d *decoder) list(node *yaml.Node, field string, into reflect.Value) error {
	if node.Kind != yaml.SequenceNode {
		return d.fail(node, field, "must be a list, got %s", kindOf(node))
	}
	made := reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content))
	for i, element := range node.Content {
		if err := d.value(element, fmt.Sprintf("%s[%d]", field, i), made.Index(i)); err != nil {
			return err
		}
	}
	into.Set(made)
	return nil
}

func (d *decoder) entries(node *yaml.Node, field string, into reflect.Value) error {
	if node.Kind != yaml.MappingNode {
		return d.fail(node, field, "must be a map, got %s", kindOf(node))
	}
	made := reflect.MakeMap(into.Type())
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
			return d.fail(key, field, "the key %s must be a string: put it in quotes", key.Value)
		}
		value := reflect.New(into.Type().Elem()).Elem()
		if err := d.value(node.Content[i+1], child(field, key.Value), value); err != nil {
			return err
		}
		made.SetMapIndex(reflect.ValueOf(key.Value), value)
	}
	into.Set(made)
	return nil
}

// scalar decodes a text, a number or a boolean.
func (d *decoder) scalar(node *yaml.Node, field string, into reflect.Value) error {
	wanted := map[reflect.Kind]struct{ tag, name string }{
		reflect.String: {"!!str", "a string, in quotes if YAML reads another type"}, reflect.Bool: {"!!bool", "true or false"},
		reflect.Int: {"!!int", "a whole number"}, reflect.Int64: {"!!int", "a whole number"},
	}[into.Kind()]
	if node.Kind != yaml.ScalarNode || node.Tag != wanted.tag {
		return d.fail(node, field, "must be %s, got %s", wanted.name, kindOf(node))
	}
	if err := node.Decode(into.Addr().Interface()); err != nil {
		return d.fail(node, field, "%w", err)
	}
	return nil
}

// kindOf names the value of a node for errors.
func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	if node.Tag == "!!null" {
		return "null"
	}
	return strings.TrimPrefix(node.Tag, "!!") + " " + node.Value
}

func child(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// structField is a field of a type of this package, with its tags.
type structField struct {
	name, goName    string
	owner           reflect.Type
	index           []int
	required, short bool
	enum            []string
	of              reflect.Type
}

// fieldsOf returns the fields of a type, with those of embedded types.
func fieldsOf(t reflect.Type) []structField {
	var all []structField
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
		case name != "" && name != "-":
			field := structField{name: name, goName: f.Name, owner: t, index: f.Index, required: f.Tag.Get("required") != "", short: f.Tag.Get("short") != "", of: f.Type}
			if enum := f.Tag.Get("enum"); enum != "" {
				field.enum = strings.Split(enum, ",")
			}
			all = append(all, field)
		}
	}
	return all
}

func names(fields []structField) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.name)
	}
	return strings.Join(all, ", ")
}

// nearest returns a suggestion for a misspelled field, or "".
func nearest(name string, fields []structField) string {
	best, least := "", 3
	for _, f := range fields {
		if n := distance(strings.ToLower(name), strings.ToLower(f.name)); n < least {
			best, least = f.name, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance returns the number of insertions, deletions and replacements between two texts.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
