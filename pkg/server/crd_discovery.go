package server

import (
	"maps"
	"net/http"
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
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

// discoveryRecorder is the resource manager of /apis, which tells the barrier what it
// has been told.
type discoveryRecorder struct {
	aggregated.ResourceManager
	barrier *crdBarrier
	handler http.Handler
	// filled is a handler of what the manager has, once it has the installed groups.
	filled func(next http.Handler) http.Handler
	// groupRemoved is called when a group is removed, which the manager's callback isn't.
	groupRemoved func()
	// added are the resources of the version that AddGroupVersion was last called with. One goroutine calls it,
	// and SetGroupVersionPriority of the same version next.
	added map[string]apidiscoveryv2.APIResourceDiscovery
}

// serveFrom makes it serve the installed groups, too.
func (d *discoveryRecorder) serveFrom(all *installed) {
	d.filled = all.filling(d.ResourceManager, func(group string) bool { return group != "" })
	d.handler = d.filled(d.ResourceManager)
}

func (d *discoveryRecorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.handler.ServeHTTP(w, req)
}

func (d *discoveryRecorder) WithSource(source aggregated.Source) aggregated.ResourceManager {
	return &discoveryRecorder{ResourceManager: d.ResourceManager.WithSource(source), barrier: d.barrier, groupRemoved: d.groupRemoved}
}

func (d *discoveryRecorder) AddGroupVersion(group string, version apidiscoveryv2.APIVersionDiscovery) {
	d.ResourceManager.AddGroupVersion(group, version)
	d.added = map[string]apidiscoveryv2.APIResourceDiscovery{}
	for _, r := range version.Resources {
		d.added[r.Resource] = r
	}
}

// SetGroupVersionPriority is what apiextensions does last: before it, the version isn't yet
// where it belongs among those of its group.
func (d *discoveryRecorder) SetGroupVersionPriority(gv metav1.GroupVersion, group, version int) {
	d.ResourceManager.SetGroupVersionPriority(gv, group, version)
	d.barrier.resourcesChanged()
	d.barrier.known.Update(func(k *knownDefinitions) { k.discovered[schema.GroupVersion(gv)] = d.added })
}

func (d *discoveryRecorder) RemoveGroup(group string) {
	d.ResourceManager.RemoveGroup(group)
	d.groupRemoved()
	d.barrier.resourcesChanged()
	d.barrier.known.Update(func(k *knownDefinitions) {
		maps.DeleteFunc(k.discovered, func(gv schema.GroupVersion, _ map[string]apidiscoveryv2.APIResourceDiscovery) bool {
			return gv.Group == group
		})
	})
}

func (d *discoveryRecorder) RemoveGroupVersion(gv metav1.GroupVersion) {
	d.ResourceManager.RemoveGroupVersion(gv)
	d.barrier.resourcesChanged()
	d.barrier.known.Update(func(k *knownDefinitions) { delete(k.discovered, schema.GroupVersion(gv)) })
}
