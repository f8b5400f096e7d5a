package registrytest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Decode decodes a manifest in YAML. An unknown or duplicate field fails the test.
func Decode(t *testing.T, s *runtime.Scheme, manifest string) runtime.Object {
	t.Helper()
	obj, _, err := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, s, s, jsonserializer.SerializerOptions{Yaml: true, Strict: true}).
		Decode([]byte(manifest), nil, nil)
	if err != nil {
		t.Fatalf("decoding %s: %v", manifest, err)
	}
	return obj
}

// AsMap returns an object as a map of its JSON fields, without apiVersion and kind. Numbers are float64, as in
// decoded YAML.
func AsMap(t *testing.T, obj any) map[string]any {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "apiVersion")
	delete(m, "kind")
	return m
}

// At returns the value at a path. A path has names of fields and indices of lists, such as "items.0.spec". An index has
// one digit.
func At(v any, path string) any {
	if path == "" {
		return v
	}
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			v = x[step[0]-'0']
		default:
			return nil
		}
	}
	return v
}

// Defaulted decodes a manifest, sets its defaults, and returns the fields of the object. It fails the test if
// setting the defaults a second time changes the object.
func Defaulted(t *testing.T, table *registry.Table, manifest string) map[string]any {
	t.Helper()
	obj := Decode(t, table.Scheme(), manifest)
	table.Scheme().Default(obj)
	once := AsMap(t, obj)
	table.Scheme().Default(obj)
	if diff := cmp.Diff(once, AsMap(t, obj)); diff != "" {
		t.Errorf("setting defaults again changed the object (-once +twice):\n%s", diff)
	}
	return once
}

// DefaultsCase is a manifest, with the expected part of the object after defaulting.
type DefaultsCase struct {
	Name, Reason string
	Manifest     string
	// Path is the path of the part that is compared, such as "items.0.spec". "" stands for the whole object.
	Path string
	Want string // the part, in YAML
}

// CheckDefaults sets the defaults of each object, and compares a part of the result with Want.
func CheckDefaults(t *testing.T, table *registry.Table, cases []DefaultsCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(fromYAML(t, tc.Want), At(Defaulted(t, table, tc.Manifest), tc.Path)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
		})
	}
}

// ConversionCase is a manifest, with the expected part of the object after its conversion to another version.
type ConversionCase struct {
	Name, Reason string
	Manifest     string
	// To is an empty object of the other version.
	To runtime.Object
	// Path is the path of the part that is compared, such as "items.0.spec". "" stands for the whole object.
	Path string
	Want string // the part, in YAML
}

// CheckConversions converts each object, and compares a part of the result with Want.
func CheckConversions(t *testing.T, table *registry.Table, cases []ConversionCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			out := tc.To.DeepCopyObject()
			if err := table.Scheme().Convert(Decode(t, table.Scheme(), tc.Manifest), out, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fromYAML(t, tc.Want), At(AsMap(t, out), tc.Path)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
		})
	}
}

func fromYAML(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
