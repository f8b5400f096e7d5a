package openapi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	openapiutil "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/generatedopenapi"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// Schemas are the OpenAPI definitions of the types of a registry.Table, and of the API of custom resource
// definitions. They depend only on the Go types and on the feature gate OpenAPIEnums. They are made at their first use.
// Servers of a process with the same table and the same gate can share them.
type Schemas struct {
	table *registry.Table
	// name returns a function that maps the name of a Go type to the name of its definition, and to extensions with the
	// kinds of the type.
	name func() func(string) (string, spec.Extensions)
	v2   func() *common.Config
	v3   func() *common.OpenAPIV3Config

	crdNamer       func() *openapi.DefinitionNamer
	crdDefinitions func() map[string]common.OpenAPIDefinition

	converter *TypeConverter
}

// New returns the schemas of a table.
func New(table *registry.Table) *Schemas {
	s := &Schemas{table: table}
	s.name = sync.OnceValue(s.newDefinitionName)
	s.v2, s.v3 = sync.OnceValue(s.newConfig), sync.OnceValue(s.newV3Config)
	s.crdNamer = sync.OnceValue(func() *openapi.DefinitionNamer { return openapi.NewDefinitionNamer(crdserver.Scheme) })
	s.crdDefinitions = sync.OnceValue(newCRDDefinitions)
	s.converter = newTypeConverter(s)
	return s
}

// TypeConverter returns the type converter of the kinds of the registry.Table.
func (s *Schemas) TypeConverter() *TypeConverter { return s.converter }

// definitions returns the definitions of the types in the API. For a table without built-in groups, these are few: the
// definitions of all types of k8s.io/api would take 6 MB.
func (s *Schemas) definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	groups := s.table.Groups()
	if slices.ContainsFunc(groups, func(g registry.Group) bool { return g.OpenAPI == nil }) {
		all := generatedopenapi.GetOpenAPIDefinitions(ref)
		for _, group := range groups {
			if group.OpenAPI != nil {
				maps.Copy(all, group.OpenAPI(ref))
			}
		}
		return all
	}
	served := sets.New[string]()
	for _, t := range s.table.Scheme().AllKnownTypes() {
		if named, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string }); ok {
			served.Insert(named.OpenAPIModelName())
		}
	}
	all := generatedopenapi.ClosureOf(ref, func(name string) bool { return served.Has(name) || strings.HasPrefix(name, machinery) })
	for _, group := range groups {
		maps.Copy(all, s.closure(ref, group.Name, ""))
	}
	return all
}

// machinery begins the model names of the types that all groups share, such as ObjectMeta and Status.
const machinery = "io.k8s.apimachinery."

// closure returns the definitions of a type of a group, and of the types to which it refers.
func (s *Schemas) closure(ref common.ReferenceCallback, group, name string) map[string]common.OpenAPIDefinition {
	i := slices.IndexFunc(s.table.Groups(), func(g registry.Group) bool { return g.Name == group && g.OpenAPI != nil })
	if i < 0 {
		return generatedopenapi.Closure(ref, name)
	}
	own := s.table.Groups()[i].OpenAPI(ref)
	all := maps.Clone(own)
	for _, definition := range own {
		for _, dependency := range definition.Dependencies {
			if _, known := all[dependency]; !known {
				maps.Copy(all, generatedopenapi.Closure(ref, dependency))
			}
		}
	}
	return all
}

// groupVersionKinds is the extension of a definition that lists the kinds of its type.
const groupVersionKinds = "x-kubernetes-group-version-kind"

// inEachVersion are the kinds that each version has, and that a definition describes for all versions.
var inEachVersion = []string{"DeleteOptions", "WatchEvent"}

// unserved are the versions that kube-apiserver has in its scheme, and a registry.Table lacks. In kube-apiserver's
// documents, they have the kinds that every version has, such as DeleteOptions.
var unserved = []schema.GroupVersion{
	{Group: "admission.k8s.io", Version: "v1"},
	{Group: "admission.k8s.io", Version: "v1beta1"},
	{Group: "apiregistration.k8s.io", Version: "v1beta1"},
	{Group: "imagepolicy.k8s.io", Version: "v1alpha1"},
}

func (s *Schemas) newDefinitionName() func(string) (string, spec.Extensions) {
	others := runtime.NewScheme()
	for _, gv := range unserved {
		metav1.AddToGroupVersion(others, gv)
	}
	namer := openapi.NewDefinitionNamer(s.table.Scheme(), others)
	type definition struct {
		name       string
		extensions spec.Extensions
	}
	// The builders ask again for each operation. The extensions of DeleteOptions, for example, have some sixty versions.
	var definitions sync.Map // by the name of the Go type
	return func(name string) (string, spec.Extensions) {
		known, ok := definitions.Load(name)
		if !ok {
			unique, extensions := namer.GetDefinitionName(name)
			known, _ = definitions.LoadOrStore(name, definition{unique, withoutInternal(extensions)})
		}
		d := known.(definition)
		return d.name, maps.Clone(d.extensions)
	}
}

// withoutInternal removes the kinds of the version "__internal" from the extensions of a definition, because that
// version exists only in the server.
func withoutInternal(extensions spec.Extensions) spec.Extensions {
	kinds, ok := extensions[groupVersionKinds].([]any)
	if !ok {
		return extensions
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind any) bool {
		return kind.(map[string]any)["version"] == runtime.APIVersionInternal
	})
	if len(kinds) == 0 {
		return nil
	}
	return spec.Extensions{groupVersionKinds: kinds}
}

// ofVersion returns the extensions of a definition in the v3 document at a path such as "/apis/apps/v1". Of a kind that
// each version has, such as DeleteOptions, the document lists only the kinds of this version and of the core version.
func ofVersion(path string, extensions spec.Extensions) spec.Extensions {
	kinds, ok := extensions[groupVersionKinds].([]any)
	if !ok || !slices.Contains(inEachVersion, kinds[0].(map[string]any)["kind"].(string)) {
		return extensions
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind any) bool {
		k := kind.(map[string]any)
		return k["group"] != "" && path != fmt.Sprintf("/apis/%s/%s", k["group"], k["version"])
	})
	return spec.Extensions{groupVersionKinds: kinds}
}

func info() *spec.Info {
	number, _, _ := strings.Cut(version.Get().GitVersion, "+")
	return &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: number}}
}

// unshared copies the parts of definitions that the builders of OpenAPI documents change.
func unshared(definitions map[string]common.OpenAPIDefinition) map[string]common.OpenAPIDefinition {
	definitions = maps.Clone(definitions)
	for name, d := range definitions {
		if d.Schema.Extensions != nil {
			d.Schema.Extensions = maps.Clone(d.Schema.Extensions)
			definitions[name] = d
		}
	}
	return definitions
}

// config returns a new configuration at each call, because the builder of OpenAPI documents changes its
// configuration.
func (s *Schemas) config() *common.Config {
	config := *s.v2()
	config.Definitions = unshared(config.Definitions)
	return &config
}

func (s *Schemas) newConfig() *common.Config {
	config := genericapiserver.DefaultOpenAPIConfig(openapiutil.GetOpenAPIDefinitionsWithoutDisabledFeatures(s.definitions), &openapi.DefinitionNamer{})
	config.GetDefinitionName = s.name()
	config.Info = info()
	describeSecurity(config)
	return config
}

// v3Config returns a new configuration at each call, because the builder of OpenAPI documents changes its
// configuration. The configurations share their definitions, which the builder doesn't change.
func (s *Schemas) v3Config() *common.OpenAPIV3Config {
	config := *s.v3()
	return &config
}

// newV3Config returns a configuration with definitions that several uses can share. The builder would change the
// extensions of the definitions. So the definitions have none, and the function GetDefinitionName returns new
// extensions at each call.
func (s *Schemas) newV3Config() *common.OpenAPIV3Config {
	config := s.v3ConfigOf(openapiutil.GetOpenAPIDefinitionsWithoutDisabledFeatures(s.definitions))
	own := map[string]spec.Extensions{}
	for name, d := range config.Definitions {
		if d.Schema.Extensions != nil {
			own[name] = d.Schema.Extensions
			d.Schema.Extensions = nil
			config.Definitions[name] = d
		}
	}
	config.GetDefinitionName = func(name string) (string, spec.Extensions) {
		definition, kinds := s.name()(name)
		if own[name] == nil {
			return definition, kinds
		}
		extensions := maps.Clone(own[name])
		maps.Copy(extensions, kinds)
		delete(extensions, common.ExtensionV2Schema)
		return definition, extensions
	}
	return config
}

func (s *Schemas) v3ConfigOf(definitions common.GetOpenAPIDefinitions) *common.OpenAPIV3Config {
	// This empty DefinitionNamer only names the definitions in references. GetDefinitionName is replaced below.
	config := genericapiserver.DefaultOpenAPIV3Config(definitions, &openapi.DefinitionNamer{})
	config.GetDefinitionName = s.name()
	config.Info = info()
	describeSecurityV3(config)
	return config
}
