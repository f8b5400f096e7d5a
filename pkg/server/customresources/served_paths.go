package customresources

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Served yields the version and the path of each resource: of the resource of definitions, of the served resources that
// definitions declare, and of their subresources. It yields none if --runtime-config turns the API of definitions off.
func (r *Resources) Served(yield func(gv schema.GroupVersion, path string) bool) {
	if !r.on {
		return
	}
	for _, path := range []string{"customresourcedefinitions", "customresourcedefinitions/status"} {
		if !yield(apiextensionsv1.SchemeGroupVersion, path) {
			return
		}
	}
	definitions, err := r.informers.Apiextensions().V1().CustomResourceDefinitions().Lister().List(labels.Everything())
	if err != nil {
		return // an informer's lister never fails
	}
	for _, crd := range definitions {
		for i := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: crd.Spec.Versions[i].Name}
			for _, path := range servedPaths(crd, &crd.Spec.Versions[i]) {
				if !yield(gv, path) {
					return
				}
			}
		}
	}
}

// servedPaths returns the paths of a custom resource and its subresources, if the version is served.
func servedPaths(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) []string {
	if !version.Served {
		return nil
	}
	paths := []string{crd.Spec.Names.Plural}
	if sub := version.Subresources; sub != nil && sub.Status != nil {
		paths = append(paths, crd.Spec.Names.Plural+"/status")
	}
	if sub := version.Subresources; sub != nil && sub.Scale != nil {
		paths = append(paths, crd.Spec.Names.Plural+"/scale")
	}
	return paths
}
