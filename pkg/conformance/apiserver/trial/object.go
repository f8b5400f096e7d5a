package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Object is an object of the API, or a part of one, as JSON decodes it.
type Object map[string]any

// At returns the value at a path of field names, separated by dots, or nil. The name of a field on the path can't have
// a dot itself: use Label for labels.
func (o Object) At(path string) any {
	var at any = map[string]any(o)
	for field := range strings.SplitSeq(path, ".") {
		fields, is := at.(map[string]any)
		if !is {
			return nil
		}
		at = fields[field]
	}
	return at
}

// Has tells whether a field exists at a path, even if its value is null.
func (o Object) Has(path string) bool {
	parent, field := o, path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, field = o.Sub(path[:i]), path[i+1:]
	}
	_, has := parent[field]
	return has
}

// Sub returns the object at a path, or nil.
func (o Object) Sub(path string) Object {
	sub, _ := o.At(path).(map[string]any)
	return sub
}

// Text returns the string at a path, or "".
func (o Object) Text(path string) string {
	text, _ := o.At(path).(string)
	return text
}

// List returns the list at a path, or nil.
func (o Object) List(path string) []any {
	list, _ := o.At(path).([]any)
	return list
}

// Objects returns the objects of the list at a path.
func (o Object) Objects(path string) []Object {
	var objects []Object
	for _, item := range o.List(path) {
		object, _ := item.(map[string]any)
		objects = append(objects, object)
	}
	return objects
}

// Name returns metadata.name.
func (o Object) Name() string { return o.Text("metadata.name") }

// Version returns metadata.resourceVersion.
func (o Object) Version() string { return o.Text("metadata.resourceVersion") }

// Label returns the value of a label, or nil.
func (o Object) Label(key string) any { return o.Sub("metadata.labels")[key] }

// Annotation returns the value of an annotation, or nil.
func (o Object) Annotation(key string) any { return o.Sub("metadata.annotations")[key] }

// Copy returns a deep copy.
func (o Object) Copy() Object { return decoded(encoded(o)) }

// With returns a copy with another value at a path. It makes missing objects on the path.
func (o Object) With(path string, value any) Object {
	object := o.Copy()
	at := map[string]any(object)
	fields := strings.Split(path, ".")
	for _, field := range fields[:len(fields)-1] {
		next, is := at[field].(map[string]any)
		if !is {
			next = map[string]any{}
			at[field] = next
		}
		at = next
	}
	at[fields[len(fields)-1]] = normal(value)
	return object
}

// WithLabel returns a copy with a label.
func (o Object) WithLabel(key, value string) Object {
	object := o.With("metadata.conformance", nil)
	metadata := object.Sub("metadata")
	delete(metadata, "conformance")
	labels, is := metadata["labels"].(map[string]any)
	if !is {
		labels = map[string]any{}
		metadata["labels"] = labels
	}
	labels[key] = value
	return object
}

// Without returns a copy without the field at a path.
func (o Object) Without(path string) Object {
	object := o.Copy()
	parent, field := object, path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, field = object.Sub(path[:i]), path[i+1:]
	}
	delete(parent, field)
	return object
}

// encoded returns the JSON of a value, and a value of type []byte as it is. The values of cases consist of JSON's types
// and API types, so encoding them causes no error.
func encoded(value any) []byte {
	if raw, is := value.([]byte); is {
		return raw
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Appendf(nil, "%q", err)
	}
	return data
}

// decoded returns the object of a JSON text, or nil if the text isn't a JSON object.
func decoded(data []byte) Object {
	object := Object{}
	if json.Unmarshal(data, &object) != nil {
		return nil
	}
	return object
}

// normal returns a value in the form that decoding its JSON gives.
func normal(value any) any {
	var decoded any
	if json.Unmarshal(encoded(value), &decoded) != nil {
		return value
	}
	return decoded
}

// text returns the JSON of a value for a finding. It cuts long texts.
func text(value any) string {
	const most = 1500
	data := string(encoded(value))
	if len(data) > most {
		return fmt.Sprintf("%s… (%d bytes)", data[:most], len(data))
	}
	return data
}

// Same tells whether the JSON of two values is equal.
func Same(a, b any) bool { return bytes.Equal(encoded(normal(a)), encoded(normal(b))) }

// Decoded returns the object of a JSON text, or nil if the text isn't a JSON object.
func Decoded(text string) Object { return decoded([]byte(text)) }
