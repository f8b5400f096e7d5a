package customresources

import (
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// discoveredResources are the custom resources that are discovered, by their plural names.
type discoveredResources map[schema.GroupVersion]map[string]apidiscoveryv2.APIResourceDiscovery

// have says whether the resources of a definition are discovered in the versions that serve
// them, as they are now, and in no other.
func (d discoveredResources) have(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, v := range crd.Spec.Versions {
		resource, found := d[schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}][crd.Spec.Names.Plural]
		if v.Served && (!found || !describes(resource, crd.Status.AcceptedNames, v.Subresources)) {
			return false
		}
	}
	for gv, resources := range d {
		_, found := resources[crd.Spec.Names.Plural]
		if found && gv.Group == crd.Spec.Group && !apihelpers.HasVersionServed(crd, gv.Version) {
			return false
		}
	}
	return true
}

// describes says whether discovery has the names and subresources of a resource.
func describes(resource apidiscoveryv2.APIResourceDiscovery, names apiextensionsv1.CustomResourceDefinitionNames,
	subresources *apiextensionsv1.CustomResourceSubresources) bool {
	var want []string
	if subresources != nil && subresources.Status != nil {
		want = append(want, "status")
	}
	if subresources != nil && subresources.Scale != nil {
		want = append(want, "scale")
	}
	return resource.ResponseKind.Kind == names.Kind && resource.SingularResource == names.Singular &&
		slices.Equal(resource.ShortNames, names.ShortNames) && slices.Equal(resource.Categories, names.Categories) &&
		slices.EqualFunc(resource.Subresources, want, func(s apidiscoveryv2.APISubresourceDiscovery, name string) bool { return s.Subresource == name })
}
