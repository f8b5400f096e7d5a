package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	crdhelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// customResources describes the established custom resources in OpenAPI v2.
type customResources struct {
	definitions crdlisters.CustomResourceDefinitionLister
	// described maps the name of each definition to the fragments that describe its versions.
	described map[string]describedResource
}

// describedResource has the fragments of a definition's versions. The version is the state of the definition on which
// they depend.
type describedResource struct {
	version   string
	fragments []*fragment
}

// describe returns the fragments of all custom resources, in the order of their definitions' names. It describes only
// the definitions that have changed since the last call. The argument kinds is the document of the built-in kinds, which
// the fragments complete.
func (r *customResources) describe(kinds *spec.Swagger) []*fragment {
	all, err := r.definitions.List(labels.Everything())
	if err != nil {
		return nil // an informer's lister never fails
	}
	slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	var fragments []*fragment
	described := make(map[string]describedResource, len(all))
	for _, crd := range all {
		if !crdhelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		version := fmt.Sprint(crd.UID, ".", crd.Generation, crd.Status.AcceptedNames)
		resource := r.described[crd.Name]
		if resource.version != version {
			resource = describedResource{version, describeResource(crd, version, kinds)}
		}
		described[crd.Name] = resource
		fragments = append(fragments, resource.fragments...)
	}
	r.described = described
	return fragments
}

// describeResource returns a fragment for each served version of a definition. As in kube-apiserver, a schema that can't be
// published has none.
func describeResource(crd *apiextensionsv1.CustomResourceDefinition, version string, kinds *spec.Swagger) []*fragment {
	var fragments []*fragment
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		swagger, err := crdopenapi.BuildOpenAPIV2(crd, v.Name, crdSpecOptions(true))
		if err != nil {
			continue
		}
		// As in the documents of built-in kinds, the definitions have no defaults.
		swagger.Definitions = handler.PruneDefaults(swagger.Definitions)
		added, err := addedTo(kinds, swagger)
		if err != nil {
			continue
		}
		if f, err := newFragment(version+v.Name, added); err == nil {
			fragments = append(fragments, f)
		}
	}
	return fragments
}

// addedTo returns what the document of a resource adds to the document of the built-in kinds. A definition that conflicts
// with a built-in one gets another name.
func addedTo(kinds, resource *spec.Swagger) (*spec.Swagger, error) {
	both := *kinds
	both.Definitions, both.Parameters = in(resource.Definitions, kinds.Definitions), in(resource.Parameters, kinds.Parameters)
	both.Paths = &spec.Paths{Paths: in(resource.Paths.Paths, kinds.Paths.Paths)}
	added, err := crdopenapi.MergeSpecs(&both, resource)
	if err != nil {
		return nil, err
	}
	remove(added.Definitions, both.Definitions)
	remove(added.Parameters, both.Parameters)
	remove(added.Paths.Paths, both.Paths.Paths)
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: added.Swagger, Info: added.Info, Paths: added.Paths, Definitions: added.Definitions, Parameters: added.Parameters,
	}}, nil
}

// in returns the entries of all whose keys some has.
func in[T any](some, all map[string]T) map[string]T {
	found := map[string]T{}
	for name := range some {
		if value, ok := all[name]; ok {
			found[name] = value
		}
	}
	return found
}

// remove removes the keys of some from all.
func remove[T any](all, some map[string]T) {
	maps.DeleteFunc(all, func(name string, _ T) bool {
		_, found := some[name]
		return found
	})
}
