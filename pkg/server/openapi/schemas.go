package openapi

import (
	"maps"
	"slices"
	"strings"
	"sync"

	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	definitions "github.com/miniapi-dev/miniapi/pkg/registry/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// Schemas describe the types of a table, and of the API in which custom resources are defined. They depend on the Go
// types alone: they are made when they are first needed, and the servers of a process that serve one table can share
// them.
type Schemas struct {
	table *registry.Table
	// name is the name of a definition, and the kinds that clients know it by.
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

// TypeConverter returns the type converter of the table's kinds.
func (s *Schemas) TypeConverter() *TypeConverter { return s.converter }

func (s *Schemas) newDefinitionName() func(string) (string, spec.Extensions) {
	namer := openapi.NewDefinitionNamer(s.table.Scheme())
	return func(name string) (string, spec.Extensions) {
		name, extensions := namer.GetDefinitionName(name)
		return name, withoutInternal(extensions)
	}
}

// withoutInternal drops the hub's "__internal" from the kinds of a definition: no
// client has heard of it.
func withoutInternal(extensions spec.Extensions) spec.Extensions {
	const key = "x-kubernetes-group-version-kind"
	kinds, ok := extensions[key].([]any)
	if !ok {
		return extensions
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind any) bool {
		return kind.(map[string]any)["version"] == runtime.APIVersionInternal
	})
	if len(kinds) == 0 {
		return nil
	}
	return spec.Extensions{key: kinds}
}

func info() *spec.Info {
	number, _, _ := strings.Cut(version.Get().GitVersion, "+")
	return &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: number}}
}

// unshared copies the part of definitions that the builders of specs write to.
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

// config is for one use: the builder writes to it.
func (s *Schemas) config() *common.Config {
	config := *s.v2()
	config.Definitions = unshared(config.Definitions)
	return &config
}

func (s *Schemas) newConfig() *common.Config {
	config := genericapiserver.DefaultOpenAPIConfig(definitions.GetOpenAPIDefinitions, &openapi.DefinitionNamer{})
	config.GetDefinitionName = s.name()
	config.Info = info()
	describeSecurity(config)
	return config
}

// v3Config is for one use: the builder writes to it, but not to the definitions.
func (s *Schemas) v3Config() *common.OpenAPIV3Config {
	config := *s.v3()
	return &config
}

// newV3Config has definitions that are shared: the builder makes the extensions that it
// writes to if a definition has none, so these come with its name.
func (s *Schemas) newV3Config() *common.OpenAPIV3Config {
	config := s.v3ConfigOf(definitions.GetOpenAPIDefinitions)
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
	// The names of definitions are what they are; a namer only adds the kinds.
	config := genericapiserver.DefaultOpenAPIV3Config(definitions, &openapi.DefinitionNamer{})
	config.GetDefinitionName = s.name()
	config.Info = info()
	describeSecurityV3(config)
	return config
}
