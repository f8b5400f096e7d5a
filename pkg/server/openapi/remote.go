package openapi

import (
	"slices"
	"strings"

	crdhelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// RemoteDocuments are the documents of other servers in /openapi/v3. A version that one of them no longer has is described
// as definitions have it: the library describes them when they change alone.
type RemoteDocuments struct {
	*handler3.OpenAPIService
	Definitions crdlisters.CustomResourceDefinitionLister
}

// DeleteGroupVersion removes a document.
func (d RemoteDocuments) DeleteGroupVersion(name string) {
	d.UpdateGroupVersionLazy(name, cached.Func(func() (*spec3.OpenAPI, string, error) { return d.ofDefinitions(name) }))
	// The lookup comes afterwards: the deletion of the last definition may have deleted the document before.
	if _, served, err := d.ofDefinitions(name); err != nil || served == "" {
		d.OpenAPIService.DeleteGroupVersion(name)
	}
}

// ofDefinitions is the document of the definitions that serve a version, and which they are.
func (d RemoteDocuments) ofDefinitions(name string) (*spec3.OpenAPI, string, error) {
	all, err := d.Definitions.List(labels.Everything())
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	group, version, _ := strings.Cut(strings.TrimPrefix(name, "apis/"), "/")
	var specs []*spec3.OpenAPI
	var served strings.Builder
	for _, crd := range all {
		if crd.Spec.Group != group || !crdhelpers.HasServedCRDVersion(crd, version) || !crdhelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		// A schema that can't be published is left out, as the library does.
		if spec, err := crdopenapi.BuildOpenAPIV3(crd, version, crdSpecOptions(false)); err == nil {
			specs = append(specs, spec)
			served.WriteString(string(crd.UID) + crd.ResourceVersion + ",")
		}
	}
	merged, err := crdopenapi.MergeSpecsV3(specs...)
	return merged, served.String(), err
}
