// Package tree represents JSON as maps, slices and scalars. Don't use it for objects that have a Go type.
package tree

import (
	"bytes"
	"encoding/json"
)

// Decode decodes JSON into maps, slices and scalars. A number becomes a json.Number, which keeps all digits.
func Decode(data []byte) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// Encode returns the JSON of a value, with indentation, for a file.
func Encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return out.Bytes(), err
}

// At returns the value at a path of keys, or nil.
func At(value any, keys ...string) any {
	for _, key := range keys {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

// Text returns the text at a path of keys, or "".
func Text(value any, keys ...string) string {
	s, _ := At(value, keys...).(string)
	return s
}

// Clone returns a deep copy of a value.
func Clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		clone := make(map[string]any, len(v))
		for key, field := range v {
			clone[key] = Clone(field)
		}
		return clone
	case []any:
		clone := make([]any, len(v))
		for i := range v {
			clone[i] = Clone(v[i])
		}
		return clone
	}
	return value
}
