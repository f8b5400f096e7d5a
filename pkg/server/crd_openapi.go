package server

import (
	"path"
	"sync"

	"github.com/emicklei/go-restful/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apiextensionsfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	crddefinitions "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// crdDefinitions describe CustomResourceDefinition and what it is made of, which is what a server needs for
// managed fields. The documents are made of more.
var crdDefinitions = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	all := crddefinitions.GetOpenAPIDefinitions(func(name string) spec.Ref {
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
})

var crdDefinitionNamer = sync.OnceValue(func() *openapi.DefinitionNamer { return openapi.NewDefinitionNamer(crdserver.Scheme) })

// crdOpenAPIV3Config is for one server: the library writes to it.
func crdOpenAPIV3Config() *common.OpenAPIV3Config {
	definitions := func(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return unshared(crdDefinitions()) }
	return genericapiserver.DefaultOpenAPIV3Config(definitions, crdDefinitionNamer())
}

// crdSpecOptions are the options with which apiextensions-apiserver describes custom resources.
func crdSpecOptions(v2 bool) crdopenapi.Options {
	return crdopenapi.Options{V2: v2, IncludeSelectableFields: utilfeature.DefaultFeatureGate.Enabled(apiextensionsfeatures.CustomResourceFieldSelectors)}
}

// unmaskDefinitions removes the document of the API's group from a server. groupList serves the document, and the
// library's would answer requests for all versions that definitions add to the group.
func unmaskDefinitions(s *genericapiserver.GenericAPIServer) error {
	container, document := s.Handler.GoRestfulContainer, path.Join(genericapiserver.APIGroupPrefix, apiextensionsv1.GroupName)
	for _, service := range container.RegisteredWebServices() {
		if service.RootPath() == document {
			return container.Remove(service)
		}
	}
	return nil
}

// describedDefinitions is what the specs describe of the API in which custom resources are defined.
func describedDefinitions(s *genericapiserver.GenericAPIServer) described {
	d := described{
		services: map[string]func() (*restful.WebService, error){},
		v2: func() *common.Config {
			config := genericapiserver.DefaultOpenAPIConfig(crddefinitions.GetOpenAPIDefinitions, crdDefinitionNamer())
			config.Info = openAPIInfo()
			describeSecurity(config)
			return config
		},
		v3: func() *common.OpenAPIV3Config {
			config := genericapiserver.DefaultOpenAPIV3Config(crddefinitions.GetOpenAPIDefinitions, crdDefinitionNamer())
			config.Info = openAPIInfo()
			describeSecurityV3(config)
			return config
		},
	}
	for _, service := range s.Handler.GoRestfulContainer.RegisteredWebServices() {
		d.services[service.RootPath()] = func() (*restful.WebService, error) { return service, nil }
	}
	return d
}
