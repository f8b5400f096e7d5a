package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse parses a File in YAML or JSON, and returns its faults. Invalid faults, two faults of one name, unknown keys, a key
// that appears twice, and a second document are errors.
func Parse(data []byte) ([]Fault, error) {
	if err := oneDocument(data); err != nil {
		return nil, err
	}
	file := File{}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, located(data, err)
	}
	for n := range file.Faults {
		if err := file.Faults[n].validate(); err != nil {
			return nil, fmt.Errorf("fault %s: %w", named(file.Faults[n].Name, n), err)
		}
	}
	return file.Faults, distinct(file.Faults)
}

// distinct returns an error if two faults have the same name.
func distinct(faults []Fault) error {
	names := map[string]bool{}
	for _, f := range faults {
		if f.Name != "" && names[f.Name] {
			return fmt.Errorf("fault %s: an earlier fault has the same name: give each fault a name of its own", f.Name)
		}
		names[f.Name] = true
	}
	return nil
}

// named returns the name of a fault, or its number in the file, counted from 1, if it has no name. n counts from 0.
func named(name string, n int) string {
	if name == "" {
		return fmt.Sprintf("number %d", n+1)
	}
	return name
}

// oneDocument returns an error if a file has several YAML documents. The YAML library would ignore all but the first.
func oneDocument(data []byte) error {
	reader, documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))), 0
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(document)) > 0 {
			documents++
		}
	}
	if documents > 1 {
		return fmt.Errorf("must be one YAML document, with all faults under the key faults, got %d documents", documents)
	}
	return nil
}

// located returns the error of a file that can't be decoded. If a fault is the cause, the new error names the fault and the
// key.
func located(data []byte, err error) error {
	var file struct {
		Faults []any `json:"faults"`
	}
	if yaml.Unmarshal(data, &file) != nil {
		return readable(err)
	}
	for n, each := range file.Faults {
		encoded, encodeErr := yaml.Marshal(each)
		if encodeErr != nil {
			continue
		}
		if wrong := yaml.UnmarshalStrict(encoded, &Fault{}); wrong != nil {
			name := ""
			if keys, ok := each.(map[string]any); ok {
				name, _ = keys["name"].(string)
			}
			return fmt.Errorf("fault %s: %w", named(name, n), readable(wrong))
		}
	}
	return readable(err)
}

// readable rewords an error of the YAML library: without the prefixes about JSON, and with YAML's words for types.
func readable(err error) error {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) {
		return errors.New(strings.NewReplacer("error unmarshaling JSON: while decoding JSON: ", "", "json: ", "").Replace(err.Error()))
	}
	want := map[reflect.Kind]string{
		reflect.Slice: "a list, as in [a, b]", reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.String: "text",
		reflect.Struct: "a map of keys",
	}[wrongType.Type.Kind()]
	got := strings.NewReplacer("array", "list", "object", "map of keys").Replace(wrongType.Value)
	if wrongType.Field == "" {
		return fmt.Errorf("must be %s, got a %s", want, got)
	}
	return fmt.Errorf("%s: must be %s, got a %s", wrongType.Field, want, got)
}

// File is the content of a file of faults, and of a POST to Path.
type File struct {
	Faults []Fault `json:"faults"`
}
