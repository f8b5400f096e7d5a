package openapi

import (
	"fmt"
	"strings"
	"sync"

	"github.com/NYTimes/gziphandler"
	"github.com/emicklei/go-restful/v3"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
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
)

// Serve serves /openapi/v2 and /openapi/v3 on a mux. Each document is built when a client first requests it. The v2
// document includes the custom resources of crds, and the documents of other servers that the function others returns.
// The v3 documents don't include the custom resources: Follow adds them to the service that Serve returns.
func Serve(mux common.PathHandlerByGroupVersion, crds crdlisters.CustomResourceDefinitionLister, others func() []cached.Result[*spec.Swagger], all ...Part) (*handler3.OpenAPIService, error) {
	mux = notFoundMux{mux}
	mux.Handle("/openapi/v2", gziphandler.GzipHandler(&documentV2{
		kinds:     onceEncoded(func() (*spec.Swagger, error) { return describeV2(all) }),
		resources: &customResources{definitions: crds},
		others:    others,
	}))

	v3 := handler3.NewOpenAPIService()
	if err := v3.RegisterOpenAPIV3VersionedService("/openapi/v3", mux); err != nil {
		return nil, err
	}
	for _, part := range all {
		for root, made := range part.services {
			v3.UpdateGroupVersionLazy(strings.TrimPrefix(root, "/"), encodedOnce(func() (*spec3.OpenAPI, string, error) {
				document, err := describeV3(root, made, part.v3())
				if err != nil { // without a document, the response is "not found"
					klog.ErrorS(err, "the OpenAPI document of an API can't be made, and isn't served", "path", root)
				}
				return document, "static", err
			}))
		}
	}
	return v3, nil
}

// encodedOnce returns a document for kube-openapi's handler of OpenAPI v3, which encodes the document when it first gets
// it, and keeps both forms. The handler gets it again, one call after the other, only to compare its ETag. So the second
// call drops the content, which takes several times as much memory as its encoding. The rest is still a document, because
// the handler falls back on it if a later document can't be made.
func encodedOnce(made func() (*spec3.OpenAPI, string, error)) cached.Value[*spec3.OpenAPI] {
	document := sync.OnceValue(func() cached.Result[*spec3.OpenAPI] {
		value, etag, err := made()
		return cached.Result[*spec3.OpenAPI]{Value: value, Etag: etag, Err: err}
	})
	encoded := false
	return cached.Func(func() (*spec3.OpenAPI, string, error) {
		result := document()
		if encoded && result.Value != nil {
			*result.Value = spec3.OpenAPI{Version: result.Value.Version, Info: result.Value.Info}
		}
		encoded = true
		return result.Get()
	})
}

// onceEncoded returns a function that makes a document at its first call, and returns it with its encoding.
func onceEncoded(made func() (*spec.Swagger, error)) func() (*spec.Swagger, *fragment, error) {
	document := sync.OnceValues(made)
	encoded := sync.OnceValues(func() (*fragment, error) {
		swagger, err := document()
		if err != nil {
			return nil, err
		}
		return newFragment("static", swagger)
	})
	return func() (*spec.Swagger, *fragment, error) {
		f, err := encoded()
		if err != nil {
			return nil, nil, err
		}
		swagger, err := document()
		return swagger, f, err
	}
}

// Services maps the path of each web service, such as /apis/apps/v1, to a function that returns the web service.
type Services map[string]func() (*restful.WebService, error)

// Part has web services together with the OpenAPI definitions of their types.
type Part struct {
	services Services
	v2       func() *common.Config
	v3       func() *common.OpenAPIV3Config
}

// Kinds returns the web services of the kinds of the registry.Table, with their OpenAPI definitions.
func (s *Schemas) Kinds(services Services) Part { return Part{services, s.config, s.v3Config} }

func describeV2(all []Part) (*spec.Swagger, error) {
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

func describeV3(root string, made func() (*restful.WebService, error), config *common.OpenAPIV3Config) (*spec3.OpenAPI, error) {
	service, err := made()
	if err != nil {
		return nil, err
	}
	document, err := builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices([]*restful.WebService{service}), config)
	if err != nil || document.Components == nil {
		return document, err
	}
	for _, schema := range document.Components.Schemas {
		schema.Extensions = ofVersion(root, schema.Extensions)
	}
	return document, nil
}
