package etcd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Locations returns the etcd servers of the resources that --etcd-servers-overrides names; "*" means all resources of a
// group. An override of a resource that isn't in the table, such as a custom resource, is an error, though
// kube-apiserver ignores such an override.
func Locations(o *genericoptions.EtcdOptions, table *registry.Table) (map[schema.GroupResource][]string, error) {
	overrides, err := genericoptions.ParseEtcdServersOverrides(o.EtcdServersOverrides)
	if err != nil || len(overrides) == 0 {
		return nil, nil //nolint:nilerr // the Validate method of the options returns this error
	}
	if IsEmbedded(o) {
		return nil, fmt.Errorf("--etcd-servers-overrides %q: must be given together with --etcd-servers: an embedded etcd stores all resources", strings.Join(o.EtcdServersOverrides, ","))
	}
	// An override of one resource takes precedence over an override of its group.
	slices.SortStableFunc(overrides, func(a, b genericoptions.EtcdServerOverride) int { return breadth(b) - breadth(a) })
	stored := table.StoragePrefixes()
	owners := map[schema.GroupResource]schema.GroupResource{}
	for _, resources := range table.Cohabiting() {
		owners[resources[1]] = resources[0]
		delete(stored, resources[1])
	}
	locations := map[schema.GroupResource][]string{}
	for _, override := range overrides {
		asked, found := override.GroupResource, false
		for resource := range stored {
			if resource == asked || breadth(override) > 0 && resource.Group == asked.Group {
				locations[resource], found = override.Servers, true
			}
		}
		if owner, borrowed := owners[asked]; borrowed && !found {
			return nil, fmt.Errorf("--etcd-servers-overrides %s/%s: is stored as %s/%s: name that resource", asked.Group, asked.Resource, owner.Group, owner.Resource)
		}
		if !found {
			return nil, fmt.Errorf("--etcd-servers-overrides %s/%s: must be GROUP/RESOURCE of a resource that is built in, such as /events or apps/deployments, or GROUP/*: definitions and custom resources stay in --etcd-servers", asked.Group, asked.Resource)
		}
	}
	// Some resources are in two groups: deployments are in extensions and in apps. The storage factory may look up the
	// etcd servers in either group.
	for borrowed, owner := range owners {
		if servers, ok := locations[owner]; ok {
			locations[borrowed] = servers
		}
	}
	return locations, nil
}

// breadth returns 1 for an override of a whole group, and 0 for an override of a single resource.
func breadth(override genericoptions.EtcdServerOverride) int {
	if override.GroupResource.Resource == serverstorage.AllResources {
		return 1
	}
	return 0
}
