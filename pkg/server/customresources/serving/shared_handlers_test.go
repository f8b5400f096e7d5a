package serving

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// storesOf are the storage options of a server.
type storesOf struct{ generic.RESTOptions }

// GetRESTOptions implements generic.RESTOptionsGetter.
func (s storesOf) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	s.StorageConfig = &storagebackend.ConfigForResource{Config: storagebackend.Config{Codec: unstructured.UnstructuredJSONScheme}, GroupResource: resource}
	s.ResourcePrefix = resource.Group + "/" + resource.Resource
	return s.RESTOptions, nil
}

// gears returns a definition as a server would have it, with a UID and a resourceVersion of that server.
func gears(uid string, change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Singular: "gear", Kind: "Gear", ListKind: "GearList"}
	crd := &apiextensionsv1.CustomResourceDefinition{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}
	crd.Name, crd.ResourceVersion = "gears.example.com", uid
	crd.UID = types.UID(uid)
	if change != nil {
		change(crd)
	}
	return crd
}

func TestServersWithTheSameContentShareAHandler(t *testing.T) {
	t.Parallel()
	server := func(change func(*Config)) *Config {
		c := &Config{Stores: storesOf{generic.RESTOptions{DeleteCollectionWorkers: 1}}, Limits: Limits{RequestTimeout: time.Minute}}
		if change != nil {
			change(c)
		}
		return c
	}
	for _, test := range []struct {
		name, reason string
		definition   func(*apiextensionsv1.CustomResourceDefinition)
		server       func(*Config)
		shared       bool
	}{
		{"same", "the UID is a server's own, and no part of the content", nil, nil, true},
		{"labels", "a handler doesn't use the definition's metadata",
			func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = map[string]string{"a": "b"} }, nil,
			true},
		{"schema", "a handler validates by the schema", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Required = []string{"spec"}
		}, nil, false},
		{"scope", "a handler's stores have or lack namespaces", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Scope = apiextensionsv1.ClusterScoped
		}, nil, false},
		{"accepted names", "a handler returns the accepted kind", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Status.AcceptedNames.ListKind = "Gears"
		}, nil, false},
		{"limits", "the library's handler gets the limits of one server", nil,
			func(c *Config) { c.Limits.MaxRequestBodyBytes = 1 }, false},
		{"workers", "the library's stores get the number of workers of one server", nil, func(c *Config) {
			c.Stores = storesOf{generic.RESTOptions{DeleteCollectionWorkers: 2}}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			handlers := &Handlers{}
			one, err := handlers.of(gears("1", nil), server(nil))
			if err != nil {
				t.Fatal(err)
			}
			other, err := handlers.of(gears("2", test.definition), server(test.server))
			if err != nil {
				t.Fatal(err)
			}
			if got := one == other; got != test.shared {
				t.Errorf("want one handler for both servers: %t, got %t: %s", test.shared, got, test.reason)
			}
		})
	}
}

// Two definitions may share the slice of versions in their specs. sameHandler then doesn't compare the versions, but
// must still find the other differences.
func TestDefinitionsWithTheSameVersions(t *testing.T) {
	t.Parallel()
	one := gears("1", nil)
	other := gears("2", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = one.Spec.Versions })
	if !sameHandler(one, other) {
		t.Error("definitions with the same content: want one handler")
	}
	other.Spec.Scope = apiextensionsv1.ClusterScoped
	if sameHandler(one, other) {
		t.Error("definitions with different scopes: want two handlers")
	}
}

func TestHandlersKeepThoseUsedLast(t *testing.T) {
	t.Parallel()
	server := &Config{Stores: storesOf{}}
	handlers := &Handlers{}
	version := func(n int) *shared {
		t.Helper()
		h, err := handlers.of(gears("1", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = fmt.Sprint(n)
		}), server)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first, second := version(0), version(1)
	for n := 2; n < mostKept; n++ {
		version(n)
	}
	if version(0) != first {
		t.Errorf("want %d handlers to be kept", mostKept)
	}
	version(mostKept)
	if version(0) != first {
		t.Error("want the handler that was used last to be kept")
	}
	if version(1) == second {
		t.Errorf("want the handler that was used longest ago to be dropped, because more than %d are kept", mostKept)
	}
	if len(handlers.last) != mostKept {
		t.Errorf("want %d handlers to be kept, got %d", mostKept, len(handlers.last))
	}
}

// advance lets time pass in the synctest bubble of a test.
func advance(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // time in a bubble doesn't take real time
	synctest.Wait()
}

func TestHandlersDropThoseThatNoServerBeginsToUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handlers := &Handlers{}
		use := func() *shared {
			t.Helper()
			h, err := handlers.of(gears("1", nil), &Config{Stores: storesOf{}})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		first := use()
		for range 2 {
			advance(keptFor - time.Second)
			if use() != first {
				t.Error("want a handler to be kept while servers begin to use it")
			}
		}
		advance(keptFor)
		if len(handlers.last) != 0 {
			t.Errorf("want no handler to be kept for longer than %v, got %d", keptFor, len(handlers.last))
		}
		if use() == first {
			t.Error("want another handler for a server that starts later")
		}
	})
}
