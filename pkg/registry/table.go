package registry

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
)

// Table is all that miniapi serves besides custom resources. Each call returns the same
// rows: they must not be changed.
func Table() []Group { return table }

// table is the one list of groups; each group's rows are in a file of its own.
var table = []Group{
	core,
	apiregistration,
	apps,
	events,
	authenticationGroup,
	authorizationGroup,
	autoscalingGroup,
	batch,
	certificates,
	networking,
	extensions,
	policy,
	rbac,
	storageGroup,
	admissionregistration,
	scheduling,
	coordination,
	node,
	discovery,
	flowcontrol,
	resource,
	storagemigration,
}

// DefaultAPIs are the group versions that are served unless --runtime-config says
// otherwise.
func DefaultAPIs() *serverstorage.ResourceConfig {
	config := serverstorage.NewResourceConfig()
	for _, g := range Table() {
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
			if v.OnDemand {
				config.DisableVersions(gv)
			} else {
				config.EnableVersions(gv)
			}
		}
	}
	return config
}

// LegacyAPIs are the resources that "api/legacy" stands for, in each version that
// k8s.io/api has them in and a kube-apiserver of that version of Kubernetes doesn't.
func LegacyAPIs(kubernetes *version.Version) []schema.GroupVersionResource {
	var legacy []schema.GroupVersionResource
	each(func(gv schema.GroupVersion, k *Kind) {
		if removed(gv.WithKind(k.kindName()), kubernetes) {
			legacy = append(legacy, gv.WithResource(k.Resource))
		}
	})
	return legacy
}

// Prototypes are objects of the kinds that are enabled and that a version of Kubernetes hasn't removed, by resource.
// Their Go types are those of the hub.
func Prototypes(enabled serverstorage.APIResourceConfigSource, kubernetes *version.Version) map[schema.GroupVersionResource]runtime.Object {
	prototypes := map[schema.GroupVersionResource]runtime.Object{}
	each(func(gv schema.GroupVersion, k *Kind) {
		gvk, gvr := gv.WithKind(k.kindName()), gv.WithResource(k.Resource)
		if Scheme().Recognizes(gvk) && enabled.ResourceEnabled(gvr) && !removed(gvk, kubernetes) {
			prototypes[gvr] = k.Object
		}
	})
	return prototypes
}

// each calls f with each row of each version of the table, whether the version has the kind or not.
func each(f func(schema.GroupVersion, *Kind)) {
	table := Table()
	for i := range table {
		for _, v := range table[i].Versions {
			for _, k := range table[i].rows(table) {
				f(schema.GroupVersion{Group: table[i].Name, Version: v.Name}, k)
			}
		}
	}
}

// removed says whether a version of Kubernetes serves a kind no longer, going by the Go type's
// own word for when that was to be.
func removed(gvk schema.GroupVersionKind, kubernetes *version.Version) bool {
	obj, err := Scheme().New(gvk)
	if err != nil {
		return false // the version never had the kind
	}
	life, ends := obj.(interface {
		APILifecycleRemoved() (major, minor int)
	})
	if !ends {
		return strings.Contains(gvk.Version, "alpha") // the first ones, that had v1beta1 before there was the word
	}
	major, minor := life.APILifecycleRemoved()
	return kubernetes.AtLeast(version.MajorMinor(uint(major), uint(minor)))
}

// HasResource says whether the table has a resource in a version, served or not.
func HasResource(gvr schema.GroupVersionResource) bool {
	table := Table()
	for i := range table {
		if table[i].Name != gvr.Group {
			continue
		}
		for _, k := range table[i].rows(table) {
			if k.Resource == gvr.Resource && Scheme().Recognizes(gvr.GroupVersion().WithKind(k.kindName())) {
				return true
			}
		}
	}
	return false
}

// StoragePrefixes are where resources are kept that aren't kept under their own names.
func StoragePrefixes() map[schema.GroupResource]string {
	prefixes := map[schema.GroupResource]string{}
	for _, g := range Table() {
		for _, k := range g.Kinds {
			prefixes[schema.GroupResource{Group: g.Name, Resource: k.Resource}] = k.storagePrefix()
		}
		for _, k := range g.rows(Table()) {
			prefixes[schema.GroupResource{Group: g.Name, Resource: k.Resource}] = k.storagePrefix()
		}
	}
	return prefixes
}
