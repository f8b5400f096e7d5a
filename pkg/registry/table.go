package registry

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
)

// Table is all that miniapi serves besides custom resources, in the order in which
// groups are discovered. Each call returns the same rows: they must not be changed.
func Table() []Group { return table }

// table is the one list of groups; each group's rows are in a file of its own.
var table = []Group{
	core,
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
	apps,
	scheduling,
	coordination,
	node,
	discovery,
	flowcontrol,
	resource,
}

// DefaultAPIs are the group versions that are served unless --runtime-config says
// otherwise.
func DefaultAPIs() *serverstorage.ResourceConfig {
	config := serverstorage.NewResourceConfig()
	for _, g := range Table() {
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
			if v.OnDemand || v.Legacy {
				config.DisableVersions(gv)
			} else {
				config.EnableVersions(gv)
			}
		}
	}
	return config
}

// LegacyAPIs are the group versions that "api/legacy" stands for.
func LegacyAPIs() []schema.GroupVersion {
	var legacy []schema.GroupVersion
	for _, g := range Table() {
		for _, v := range g.Versions {
			if v.Legacy {
				legacy = append(legacy, schema.GroupVersion{Group: g.Name, Version: v.Name})
			}
		}
	}
	return legacy
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
