package apidiscovery

import (
	"reflect"
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources/bygroup"
)

// custom puts the resources of custom resource definitions into aggregated discovery.
type custom struct {
	crds    bygroup.Lister
	manager aggregated.ResourceManager
	// known are the resources of definitions that the manager has, by group version.
	known map[schema.GroupVersion]knownVersion
}

// knownVersion has the resources of a group version, and the definitions from which they were made.
type knownVersion struct {
	definitions []*apiextensionsv1.CustomResourceDefinition
	resources   []apidiscoveryv2.APIResourceDiscovery
}

// update gives the manager the resources of definitions in some group versions. The result is true if one of the
// versions has changed.
func (c *custom) update(versions []schema.GroupVersion) (changed bool) {
	for _, gv := range versions {
		changed = c.updateVersion(gv) || changed
	}
	return changed
}

func (c *custom) updateVersion(gv schema.GroupVersion) (changed bool) {
	definitions, known := c.crds.Serving(gv), c.known[gv]
	// At a start, the informer has all definitions before it calls the handler with the first one. Most of these calls
	// find no change, so they needn't compare all resources of a large group.
	if len(definitions) > 0 && slices.Equal(known.definitions, definitions) {
		return false
	}
	var resources []apidiscoveryv2.APIResourceDiscovery
	for _, crd := range definitions {
		resources = append(resources, aggregatedResource(crd, gv))
	}
	if reflect.DeepEqual(known.resources, resources) {
		if len(resources) > 0 {
			c.known[gv] = knownVersion{definitions, resources}
		}
		return false
	}
	switch {
	case len(resources) > 0:
		c.known[gv] = knownVersion{definitions, resources}
		c.manager.AddGroupVersion(gv.Group, apidiscoveryv2.APIVersionDiscovery{
			Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Version: gv.Version, Resources: resources,
		})
		c.manager.SetGroupVersionPriority(metav1.GroupVersion(gv), registry.CustomGroupPriority, registry.CustomVersionPriority)
		return true
	case len(c.crds.Served(gv.Group)) > 0:
		c.manager.RemoveGroupVersion(metav1.GroupVersion(gv))
	default:
		c.manager.RemoveGroup(gv.Group)
	}
	delete(c.known, gv)
	return true
}

// These are the verbs of custom resources and of their subresources.
var (
	verbs            = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	terminatingVerbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
	subresourceVerbs = metav1.Verbs{"get", "patch", "update"}
)

func verbsOf(crd *apiextensionsv1.CustomResourceDefinition) metav1.Verbs {
	if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating) {
		return terminatingVerbs
	}
	return verbs
}

// subresource is a subresource of a custom resource, and the kind of its requests.
type subresource struct {
	name string
	kind schema.GroupVersionKind
}

func subresources(crd *apiextensionsv1.CustomResourceDefinition, gv schema.GroupVersion) []subresource {
	served, err := apihelpers.GetSubresourcesForVersion(crd, gv.Version)
	if err != nil || served == nil {
		return nil
	}
	var all []subresource
	if served.Status != nil {
		all = append(all, subresource{"status", gv.WithKind(crd.Status.AcceptedNames.Kind)})
	}
	if served.Scale != nil {
		all = append(all, subresource{"scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale")})
	}
	return all
}

// aggregatedResource returns the description of a definition's resource in a version, for aggregated discovery.
func aggregatedResource(crd *apiextensionsv1.CustomResourceDefinition, gv schema.GroupVersion) apidiscoveryv2.APIResourceDiscovery {
	names := crd.Status.AcceptedNames
	kind := metav1.GroupVersionKind(gv.WithKind(names.Kind))
	resource := apidiscoveryv2.APIResourceDiscovery{
		Resource: names.Plural, SingularResource: names.Singular, Scope: apidiscoveryv2.ScopeCluster, ResponseKind: &kind,
		Verbs: verbsOf(crd), ShortNames: names.ShortNames, Categories: names.Categories,
	}
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		resource.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, sub := range subresources(crd, gv) {
		kind := metav1.GroupVersionKind(sub.kind)
		resource.Subresources = append(resource.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub.name, ResponseKind: &kind, Verbs: subresourceVerbs,
		})
	}
	return resource
}

// listedResources returns the resources of definitions in a version, in the form of /apis/GROUP/VERSION. The result is
// empty if no definition serves the version.
func listedResources(crds bygroup.Lister, gv schema.GroupVersion) []metav1.APIResource {
	var resources []metav1.APIResource
	for _, crd := range crds.Serving(gv) {
		names, namespaced := crd.Status.AcceptedNames, crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		resources = append(resources, metav1.APIResource{
			Name: names.Plural, SingularName: names.Singular, Namespaced: namespaced, Kind: names.Kind, Verbs: verbsOf(crd),
			ShortNames: names.ShortNames, Categories: names.Categories, StorageVersionHash: storageVersionHash(crd),
		})
		for _, sub := range subresources(crd, gv) {
			listed := metav1.APIResource{Name: names.Plural + "/" + sub.name, Namespaced: namespaced, Kind: sub.kind.Kind, Verbs: subresourceVerbs}
			if sub.kind.GroupVersion() != gv {
				listed.Group, listed.Version = sub.kind.Group, sub.kind.Version
			}
			resources = append(resources, listed)
		}
	}
	return resources
}

// storageVersionHash returns the hash of the version in which the resource is stored, or "" if that version isn't
// served.
func storageVersionHash(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Storage && v.Served {
			return discovery.StorageVersionHash(crd.Spec.Group, v.Name, crd.Spec.Names.Kind)
		}
	}
	return ""
}

// versionsOf returns the group versions of definitions. A definition may be nil.
func versionsOf(definitions ...*apiextensionsv1.CustomResourceDefinition) []schema.GroupVersion {
	var versions []schema.GroupVersion
	for _, crd := range definitions {
		if crd == nil {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if gv := (schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}); !slices.Contains(versions, gv) {
				versions = append(versions, gv)
			}
		}
	}
	return versions
}
