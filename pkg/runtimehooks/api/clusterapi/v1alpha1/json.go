package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// JSON is any JSON value, encoded.
type JSON struct {
	Raw []byte `json:"-"`
}

// JSONOf encodes a value as JSON.
func JSONOf(value any) (JSON, error) {
	raw, err := json.Marshal(value)
	return JSON{Raw: raw}, err
}

// Decode decodes the JSON into a value.
func (j JSON) Decode(into any) error {
	if len(j.Raw) == 0 {
		return fmt.Errorf("decoding into %T: the JSON is empty", into)
	}
	return json.Unmarshal(j.Raw, into)
}

// MarshalJSON implements json.Marshaler. The empty value is null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j.Raw) == 0 {
		return []byte("null"), nil
	}
	return j.Raw, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(data []byte) error {
	j.Raw = append(j.Raw[:0:0], data...)
	return nil
}

// OpenAPISchemaType makes the generated OpenAPI schema accept any JSON.
func (JSON) OpenAPISchemaType() []string { return nil }

// OpenAPISchemaFormat makes the generated OpenAPI schema have no format.
func (JSON) OpenAPISchemaFormat() string { return "" }
