package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	crdhelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	definitions "github.com/miniapi-dev/miniapi/pkg/registry/openapi"
)

// The OpenAPI definitions of the registry depend on the table alone. They are made at their first
// use, once a process, and shared by all its servers.
var (
	sharedOpenAPIConfig   = sync.OnceValue(newOpenAPIConfig)
	sharedOpenAPIV3Config = sync.OnceValue(newOpenAPIV3Config)
	definitionName        = sync.OnceValue(newDefinitionName)
)

func newDefinitionName() func(string) (string, spec.Extensions) {
	namer := openapi.NewDefinitionNamer(builtin.Table().Scheme())
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

func openAPIInfo() *spec.Info {
	version, _, _ := strings.Cut(Version().GitVersion, "+")
	return &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: version}}
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

// openAPIConfig is for one use: the builder writes to it.
func openAPIConfig() *common.Config {
	config := *sharedOpenAPIConfig()
	config.Definitions = unshared(config.Definitions)
	return &config
}

func newOpenAPIConfig() *common.Config {
	config := genericapiserver.DefaultOpenAPIConfig(definitions.GetOpenAPIDefinitions, &openapi.DefinitionNamer{})
	config.GetDefinitionName = definitionName()
	config.Info = openAPIInfo()
	describeSecurity(config)
	return config
}

// openAPIV3Config is for one use: the builder writes to it, but not to the definitions.
func openAPIV3Config() *common.OpenAPIV3Config {
	config := *sharedOpenAPIV3Config()
	return &config
}

// newOpenAPIV3Config has definitions that are shared: the builder makes the extensions that it
// writes to if a definition has none, so these come with its name.
func newOpenAPIV3Config() *common.OpenAPIV3Config {
	config := openAPIV3ConfigOf(definitions.GetOpenAPIDefinitions)
	own := map[string]spec.Extensions{}
	for name, d := range config.Definitions {
		if d.Schema.Extensions != nil {
			own[name] = d.Schema.Extensions
			d.Schema.Extensions = nil
			config.Definitions[name] = d
		}
	}
	config.GetDefinitionName = func(name string) (string, spec.Extensions) {
		definition, kinds := definitionName()(name)
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

func openAPIV3ConfigOf(definitions common.GetOpenAPIDefinitions) *common.OpenAPIV3Config {
	// The names of definitions are what they are; a namer only adds the kinds.
	config := genericapiserver.DefaultOpenAPIV3Config(definitions, &openapi.DefinitionNamer{})
	config.GetDefinitionName = definitionName()
	config.Info = openAPIInfo()
	describeSecurityV3(config)
	return config
}

// installOpenAPI serves /openapi/v2 and /openapi/v3, both built when first asked for.
// Custom resources are merged into v2 here; for v3 the returned service is also
// apiextensions' own to update.
func installOpenAPI(mux common.PathHandlerByGroupVersion, all []described, crds crdlisters.CustomResourceDefinitionLister) (*handler3.OpenAPIService, error) {
	static := cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		swagger, err := describeV2(all)
		return swagger, "static", err
	}))
	v2 := handler.NewOpenAPIServiceLazy(cached.MergeList(func(parts []cached.Result[*spec.Swagger]) (*spec.Swagger, string, error) {
		if parts[0].Err != nil {
			return nil, "", parts[0].Err
		}
		if parts[1].Err != nil || parts[1].Value == nil {
			return parts[0].Value, parts[0].Etag, nil
		}
		merged, err := crdopenapi.MergeSpecs(parts[0].Value, parts[1].Value)
		return merged, parts[0].Etag + parts[1].Etag, err
	}, []cached.Value[*spec.Swagger]{static, customResources(crds)}))
	v2.RegisterOpenAPIVersionedService("/openapi/v2", mux)

	v3 := handler3.NewOpenAPIService()
	if err := v3.RegisterOpenAPIV3VersionedService("/openapi/v3", mux); err != nil {
		return nil, err
	}
	for _, part := range all {
		for root, made := range part.services {
			v3.UpdateGroupVersionLazy(strings.TrimPrefix(root, "/"), cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
				document, err := describeV3(made, part.v3())
				if err != nil { // whoever asks for it is told that it isn't there
					klog.ErrorS(err, "describing an API", "path", root)
				}
				return document, "static", err
			})))
		}
	}
	return v3, nil
}

// described is what the specs describe by one set of definitions.
type described struct {
	services map[string]func() (*restful.WebService, error) // by their paths
	v2       func() *common.Config
	v3       func() *common.OpenAPIV3Config
}

func (i *installed) described(s *genericapiserver.GenericAPIServer) described {
	services := map[string]func() (*restful.WebService, error){}
	for _, service := range append(s.Handler.GoRestfulContainer.RegisteredWebServices(), i.services...) {
		services[service.RootPath()] = func() (*restful.WebService, error) { return service, nil }
	}
	for _, v := range i.versions {
		services[v.root] = v.service
	}
	return described{services, openAPIConfig, openAPIV3Config}
}

func describeV2(all []described) (*spec.Swagger, error) {
	var specs []*spec.Swagger
	for _, part := range all {
		var services []*restful.WebService
		for _, made := range part.services {
			service, err := made()
			if err != nil {
				return nil, err
			}
			services = append(services, service)
		}
		swagger, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), part.v2())
		if err != nil {
			return nil, fmt.Errorf("building /openapi/v2: %w", err)
		}
		specs = append(specs, swagger)
	}
	swagger, err := crdopenapi.MergeSpecs(specs[0], specs[1:]...)
	if err != nil {
		return nil, fmt.Errorf("merging /openapi/v2: %w", err)
	}
	swagger.Definitions = handler.PruneDefaults(swagger.Definitions)
	return swagger, nil
}

func describeV3(made func() (*restful.WebService, error), config *common.OpenAPIV3Config) (*spec3.OpenAPI, error) {
	service, err := made()
	if err != nil {
		return nil, err
	}
	return builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices([]*restful.WebService{service}), config)
}

// customResources is the v2 spec of the established custom resources, rebuilt when
// one of them has changed.
func customResources(crds crdlisters.CustomResourceDefinitionLister) cached.Value[*spec.Swagger] {
	var mu sync.Mutex
	var built *spec.Swagger
	var builtOf string
	return cached.Func(func() (*spec.Swagger, string, error) {
		mu.Lock()
		defer mu.Unlock()
		all, err := crds.List(labels.Everything())
		if err != nil {
			return nil, "", err
		}
		slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
		var specs []*spec.Swagger
		var etag strings.Builder
		for _, crd := range all {
			fmt.Fprint(&etag, ",", crd.UID, crd.ResourceVersion)
		}
		if etag.String() == builtOf {
			return built, builtOf, nil
		}
		for _, crd := range all {
			if !crdhelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
				continue
			}
			for _, v := range crd.Spec.Versions {
				if !v.Served {
					continue
				}
				// A schema that can't be published is left out, as the reference does.
				if swagger, err := crdopenapi.BuildOpenAPIV2(crd, v.Name, crdSpecOptions(true)); err == nil {
					swagger.Definitions = handler.PruneDefaults(swagger.Definitions) // as of the other kinds
					specs = append(specs, swagger)
				}
			}
		}
		built, builtOf = nil, etag.String()
		if len(specs) > 0 {
			if built, err = crdopenapi.MergeSpecs(specs[0], specs[1:]...); err != nil {
				return nil, "", err
			}
		}
		return built, builtOf, nil
	})
}
