package openapi

import (
	"strings"
	"sync"

	crdhelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/miniapi-dev/miniapi/pkg/server/customresources/bygroup"
)

// Documents are the documents of /openapi/v3. The documents of custom resources follow the definitions: each is built
// at the first request for it, from the present definitions. The document of an aggregated server can replace the
// document of a version. When the document of the aggregated server is removed, /openapi/v3 has the document of the
// custom resources again.
type Documents struct {
	*handler3.OpenAPIService
	definitions bygroup.Lister

	mu sync.Mutex // held while the document of the definitions replaces another document
}

// Follow keeps the documents of custom resources in a service up to date. The informer of definitions must call its
// handlers in the order in which they were added. Then an event has changed the documents before the informer calls
// handlers that were added after Follow. The lister has the informer's definitions.
func Follow(definitions crdinformers.CustomResourceDefinitionInformer, lister bygroup.Lister, service *handler3.OpenAPIService) (*Documents, error) {
	d := &Documents{OpenAPIService: service, definitions: lister}
	_, err := definitions.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { d.changed(nil, obj) },
		UpdateFunc: d.changed,
		DeleteFunc: func(obj any) { d.changed(obj, nil) },
	})
	return d, err
}

// changed updates the documents of the versions that a custom resource definition had before an event, and of the
// versions that it has after the event. One of the two states may be nil. A state that isn't established has no document.
func (d *Documents) changed(old, obj any) {
	if gone, ok := old.(cache.DeletedFinalStateUnknown); ok {
		old = gone.Obj
	}
	was, _ := old.(*apiextensionsv1.CustomResourceDefinition)
	is, _ := obj.(*apiextensionsv1.CustomResourceDefinition)
	if was != nil && is != nil && describedAlike(was, is) {
		return
	}
	versions := map[schema.GroupVersion]struct{}{}
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{was, is} {
		if crd == nil || !crdhelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		for _, v := range crd.Spec.Versions {
			versions[schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}] = struct{}{}
		}
	}
	for gv := range versions {
		d.describe(gv)
	}
}

// describedAlike reports whether two states of a definition give the same documents.
func describedAlike(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return a.UID == b.UID && a.Generation == b.Generation &&
		crdhelpers.IsCRDConditionTrue(a, apiextensionsv1.Established) == crdhelpers.IsCRDConditionTrue(b, apiextensionsv1.Established) &&
		equality.Semantic.DeepEqual(a.Status.AcceptedNames, b.Status.AcceptedNames)
}

// DeleteGroupVersion removes the document of an aggregated server. If the version has custom resources, their document
// takes its place.
func (d *Documents) DeleteGroupVersion(name string) {
	group, version, _ := strings.Cut(strings.TrimPrefix(name, prefix), "/")
	d.describe(schema.GroupVersion{Group: group, Version: version})
}

// prefix is the beginning of the name of a group version's document.
const prefix = "apis/"

// describe sets the document of a version to the document of the version's custom resources. If no custom resource
// definition serves the version, it removes the document.
func (d *Documents) describe(gv schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := prefix + gv.String()
	if len(d.definitions.Serving(gv)) == 0 {
		d.OpenAPIService.DeleteGroupVersion(name)
		return
	}
	d.UpdateGroupVersionLazy(name, encodedOnce(func() (*spec3.OpenAPI, string, error) { return d.document(gv) }))
}

// document returns the document of a version's custom resources, and a text that changes when one of their definitions
// changes.
func (d *Documents) document(gv schema.GroupVersion) (*spec3.OpenAPI, string, error) {
	var specs []*spec3.OpenAPI
	var served strings.Builder
	for _, crd := range d.definitions.Serving(gv) {
		// As in kube-apiserver, the document leaves out a schema that can't be published.
		if spec, err := crdopenapi.BuildOpenAPIV3(crd, gv.Version, crdSpecOptions(false)); err == nil {
			specs = append(specs, spec)
			served.WriteString(string(crd.UID) + crd.ResourceVersion + ",")
		}
	}
	merged, err := crdopenapi.MergeSpecsV3(specs...)
	return merged, served.String(), err
}
