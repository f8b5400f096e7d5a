package openapi

import (
	"github.com/emicklei/go-restful/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apiextensionsfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	crddefinitions "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	openapiutil "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// crdDefinitionsOfGates returns the OpenAPI definitions of the types of apiextensions-apiserver, without the parts whose
// feature gates are off.
var crdDefinitionsOfGates = openapiutil.GetOpenAPIDefinitionsWithoutDisabledFeatures(crddefinitions.GetOpenAPIDefinitions)

// newCRDDefinitions returns the OpenAPI definitions of CustomResourceDefinition and of the types in it. These
// definitions are enough for managed fields, but not for the OpenAPI documents.
func newCRDDefinitions() map[string]common.OpenAPIDefinition {
	all := crdDefinitionsOfGates(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(name))
	})
	used := map[string]common.OpenAPIDefinition{}
	var use func(name string)
	use = func(name string) {
		if _, done := used[name]; done {
			return
		}
		used[name] = all[name]
		for _, dependency := range all[name].Dependencies {
			use(dependency)
		}
	}
	use(apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName())
	return used
}

// CustomResourceDefinitions returns the OpenAPI description of the API of custom resource definitions, for
// apiextensions-apiserver. Each server needs its own copy, because the library changes it.
func (s *Schemas) CustomResourceDefinitions() *common.OpenAPIV3Config {
	definitions := func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		return unshared(s.crdDefinitions())
	}
	return genericapiserver.DefaultOpenAPIV3Config(definitions, s.crdNamer())
}

// crdSpecOptions returns the options with which apiextensions-apiserver builds the OpenAPI documents of custom
// resources.
func crdSpecOptions(v2 bool) crdopenapi.Options {
	return crdopenapi.Options{V2: v2, IncludeSelectableFields: utilfeature.DefaultFeatureGate.Enabled(apiextensionsfeatures.CustomResourceFieldSelectors)}
}

// Definitions returns the web services of the API of custom resource definitions as a Part.
func (s *Schemas) Definitions(services []*restful.WebService) Part {
	p := Part{
		services: Services{},
		v2: func() *common.Config {
			config := genericapiserver.DefaultOpenAPIConfig(crdDefinitionsOfGates, s.crdNamer())
			config.Info = info()
			describeSecurity(config)
			return config
		},
		v3: func() *common.OpenAPIV3Config {
			config := genericapiserver.DefaultOpenAPIV3Config(crdDefinitionsOfGates, s.crdNamer())
			config.Info = info()
			describeSecurityV3(config)
			return config
		},
	}
	for _, service := range services {
		p.services[service.RootPath()] = func() (*restful.WebService, error) { return service, nil }
	}
	return p
}
