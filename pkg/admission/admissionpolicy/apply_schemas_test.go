package admissionpolicy

import (
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
)

// document is a server's OpenAPI document of a group version. It has the kind Thing of example.com/v1.
type document struct {
	version int
	reads   *int
}

func (d document) ServerRelativeURL() string { return fmt.Sprintf("/openapi/v3/x?hash=%d", d.version) }

func (d document) Schema(string) ([]byte, error) {
	*d.reads++
	return []byte(`{"components": {"schemas": {"com.example.v1.Thing": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}]}}}}`), nil
}

type server map[string]openapi.GroupVersion

func (s server) Paths() (map[string]openapi.GroupVersion, error) { return s, nil }

// The converter of a custom resource needs no request to the server.
func TestDefinedConverters(t *testing.T) {
	t.Parallel()
	reads := 0
	builtin := managedfields.NewDeducedTypeConverter()
	served := server{"apis/example.com/v1": document{1, &reads}}
	var definition *apiextensionsv1.CustomResourceDefinition
	c := &converters{
		openAPI:    func() openapi.Client { return served },
		definition: func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition { return definition },
	}
	get := func(reason string) managedfields.TypeConverter {
		t.Helper()
		found := c.GetTypeConverter(thing)
		if found == nil {
			t.Fatalf("%s: none found", reason)
		}
		return found
	}
	asked := get("the server knows what isn't defined")
	if reads != 1 {
		t.Errorf("the server was asked %d times, want once", reads)
	}
	definition = things("1", anyObject)
	first := get("a definition says all")
	if first == asked || get("it is the same definition") != first {
		t.Error("the converter of a definition isn't its own, or is made again")
	}
	definition = definition.DeepCopy()
	definition.ResourceVersion = "2"
	second := get("the definition has changed")
	definition = definition.DeepCopy()
	definition.UID = "2"
	if third := get("it is another definition"); second == first || third == second {
		t.Error("the converter of a definition that has changed is the old one")
	}
	definition = definition.DeepCopy()
	definition.ResourceVersion, definition.Spec.Versions = "3", nil
	if found := c.GetTypeConverter(thing); found != nil {
		t.Error("a definition without the version has a converter")
	}
	if reads != 1 {
		t.Errorf("the server was asked %d times, though the kind is defined", reads-1)
	}
	c.builtin = builtin
	if get("what is built in counts first") != builtin {
		t.Error("a built-in kind has another converter")
	}
}

func TestConverters(t *testing.T) {
	t.Parallel()
	reads := 0
	served := server{}
	c := &converters{openAPI: func() openapi.Client { return served }}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	const path = "apis/example.com/v1"

	steps := []struct {
		name, reason string
		change       func()
		found        bool
		reads        int
	}{
		{name: "undefined", reason: "no definition has the kind"},
		{name: "defined", reason: "a new definition has a converter at once",
			change: func() { served[path] = document{1, &reads} }, found: true, reads: 1},
		{name: "again", reason: "the schema hasn't changed", found: true, reads: 1},
		{name: "changed", reason: "the schema has changed", change: func() { served[path] = document{2, &reads} }, found: true, reads: 2},
	}
	for _, step := range steps {
		if step.change != nil {
			step.change()
		}
		if found := c.GetTypeConverter(kind) != nil; found != step.found || reads != step.reads {
			t.Errorf("%s: %s: found %t, read %d times; want %t, %d", step.name, step.reason, found, reads, step.found, step.reads)
		}
	}
}

// When a converter is made, the converters of deleted definitions and of OpenAPI documents that are gone are removed.
func TestConvertersAreForgotten(t *testing.T) {
	t.Parallel()
	const n = 10
	reads := 0
	served, definitions := server{}, map[schema.GroupVersionKind]*apiextensionsv1.CustomResourceDefinition{}
	c := &converters{
		openAPI:    func() openapi.Client { return served },
		definition: func(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition { return definitions[kind] },
	}
	for i := range n {
		defined := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: fmt.Sprint("Gear", i)}
		names := apiextensionsv1.CustomResourceDefinitionNames{Plural: fmt.Sprint("gears", i), Kind: defined.Kind}
		definitions[defined] = &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: defined.Group, Names: names, Scope: apiextensionsv1.ClusterScoped, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: defined.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		}}
		remote := schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Thing"}
		served["apis/"+remote.GroupVersion().String()] = document{1, &reads}
		for _, kind := range []schema.GroupVersionKind{defined, remote} {
			if c.GetTypeConverter(kind) == nil {
				t.Fatalf("no converter of %v", kind)
			}
		}
		delete(definitions, defined)
		delete(served, "apis/"+remote.GroupVersion().String())
	}
	if len(c.defined) != 1 || len(c.published) != 1 {
		t.Errorf("after %d kinds of either sort, each gone before the next, there are converters of %d definitions and %d documents, want the last", n, len(c.defined), len(c.published))
	}
}
