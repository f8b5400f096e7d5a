package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// JSON is any JSON value, as bytes.
type JSON struct {
	Raw []byte `json:"-"`
}

// JSONOf encodes a value.
func JSONOf(value any) (JSON, error) {
	raw, err := json.Marshal(value)
	return JSON{Raw: raw}, err
}

// Decode decodes the value.
func (j JSON) Decode(into any) error {
	if len(j.Raw) == 0 {
		return fmt.Errorf("there is no JSON to decode into %T", into)
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

// OpenAPISchemaType makes the OpenAPI schema one of any JSON.
func (JSON) OpenAPISchemaType() []string { return nil }

// OpenAPISchemaFormat makes the OpenAPI schema one without a format.
func (JSON) OpenAPISchemaFormat() string { return "" }
