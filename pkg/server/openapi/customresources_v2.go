package openapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	crdhelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// customResources returns the OpenAPI v2 document of the established custom resources. The document is built anew after
// a definition has changed.
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
				// As in kube-apiserver, the document leaves out a schema that can't be published.
				if swagger, err := crdopenapi.BuildOpenAPIV2(crd, v.Name, crdSpecOptions(true)); err == nil {
					// As in the documents of built-in kinds, the definitions have no defaults.
					swagger.Definitions = handler.PruneDefaults(swagger.Definitions)
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
