package apidiscovery

import (
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources/bygroup"
)

// Groups keeps two things up to date: the list of groups, and the resources of definitions in aggregated discovery.
// The list depends on the built-in groups, on definitions, and on APIServices of other servers.
type Groups struct {
	crds   crdinformers.CustomResourceDefinitionInformer
	lister bygroup.Lister
	list   *List
	// builtIn are the APIServices of the built-in group versions. "own" has the same group versions, for look-ups.
	// Both fields never change.
	builtIn []*apiregistrationv1.APIService
	own     map[schema.GroupVersion]bool
	// resources puts the resources of definitions into aggregated discovery.
	resources custom
	hooks     Hooks
	// aggregator has the group versions of other servers, or is nil.
	aggregator Aggregator

	mu sync.Mutex
	// custom has the APIServices of the served custom resources.
	custom map[schema.GroupVersion]*apiregistrationv1.APIService
}

// Hooks are functions that are called for an event of a definition, after discovery is up to date.
type Hooks struct {
	// ResourcesChanged is called when the discovered custom resources have changed.
	ResourcesChanged func()
	// Observe is called for each event of a definition, after ResourcesChanged.
	Observe func(crd *apiextensionsv1.CustomResourceDefinition, deleted bool)
}

// Aggregator has the group versions of other servers. aggregation.Aggregator implements it.
type Aggregator interface {
	// Remote returns the APIServices of the group versions of other servers.
	Remote() []*apiregistrationv1.APIService
	// SetOwn gives the aggregator the APIServices of this server's own group versions. The function custom returns the
	// present ones of custom resources.
	SetOwn(builtIn []*apiregistrationv1.APIService, custom func() []*apiregistrationv1.APIService)
	// CustomChanged tells the aggregator that the function custom returns other APIServices than before.
	CustomChanged()
}

// NewGroups returns Groups that keep list up to date. The informer of definitions must call its handlers in the order
// in which they were added, because Groups adds a handler that must be the last one. The lister has the informer's
// definitions.
func NewGroups(crds crdinformers.CustomResourceDefinitionInformer, lister bygroup.Lister, list *List, builtIn []*apiregistrationv1.APIService, hooks Hooks) *Groups {
	own := map[schema.GroupVersion]bool{}
	for _, s := range builtIn {
		own[schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}] = true
	}
	list.crds, list.own = lister, own
	return &Groups{
		crds: crds, lister: lister, list: list, builtIn: builtIn, own: own, hooks: hooks,
		custom: map[schema.GroupVersion]*apiregistrationv1.APIService{},
	}
}

// Aggregate adds the group versions of other servers. It must be called before Start.
func (d *Groups) Aggregate(aggregator Aggregator) {
	d.aggregator = aggregator
	aggregator.SetOwn(d.builtIn, d.customAPIServices)
}

// Start sets the priorities of the built-in groups in aggregated discovery, makes the list of groups, and adds the
// event handler that keeps both up to date. The result is done when discovery has the groups of the stored definitions.
func (d *Groups) Start(manager aggregated.ResourceManager) (cache.DoneChecker, error) {
	for _, s := range d.builtIn {
		gv := metav1.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}
		manager.SetGroupVersionPriority(gv, int(s.Spec.GroupPriorityMinimum), int(s.Spec.VersionPriority))
	}
	d.resources = custom{
		crds: d.lister, manager: manager.WithSource(aggregated.CRDSource),
		known: map[schema.GroupVersion]knownVersion{},
	}
	d.Sync()
	registration, err := d.crds.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { d.handle(nil, obj, false) },
		UpdateFunc: func(old, obj any) { d.handle(old, obj, false) },
		DeleteFunc: func(obj any) { d.handle(nil, obj, true) },
	})
	if err != nil {
		return nil, err
	}
	return registration.HasSyncedChecker(), nil
}

// handle updates discovery after a write of a definition. The answer to the write waits until handle has called
// Observe.
func (d *Groups) handle(old, obj any, deleted bool) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return
	}
	before, _ := old.(*apiextensionsv1.CustomResourceDefinition)
	if versions := versionsOf(before, crd); d.resources.update(versions) {
		d.updateAPIServices(versions)
		d.Sync()
		if d.aggregator != nil {
			d.aggregator.CustomChanged()
		}
		d.hooks.ResourcesChanged()
	}
	d.hooks.Observe(crd, deleted)
}

// Sync makes the list of groups anew from the present APIServices. The list is made when a client asks for it: many
// definitions may come before.
func (d *Groups) Sync() {
	groups := sync.OnceValue(func() []metav1.APIGroup {
		return groupsOf(d.withRemote(slices.Concat(d.builtIn, d.customAPIServices())))
	})
	d.list.groups.Store(&groups)
}

// groupsOf returns the groups of APIServices, in the order of discovery.
func groupsOf(services []*apiregistrationv1.APIService) []metav1.APIGroup {
	var groups []metav1.APIGroup
	for _, ofGroup := range helper.SortedByGroupAndVersion(services) {
		var versions []schema.GroupVersion
		for _, s := range ofGroup {
			versions = append(versions, schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version})
		}
		if versions[0].Group != "" {
			groups = append(groups, Group(versions))
		}
	}
	return groups
}

// customAPIServices returns the APIServices of custom resources.
func (d *Groups) customAPIServices() []*apiregistrationv1.APIService {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.custom))
}

// updateAPIServices adds the APIServices of the versions that definitions serve, and removes those of other versions. A
// definition may add a version to a built-in group. A definition in a built-in version has no effect.
func (d *Groups) updateAPIServices(versions []schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, gv := range versions {
		_, served := d.resources.known[gv]
		switch {
		case !served:
			delete(d.custom, gv)
		case d.custom[gv] == nil && !d.own[gv]:
			d.custom[gv] = aggregation.Custom(gv)
		}
	}
}

// withRemote adds the APIServices of other servers. An APIService of another server replaces the APIService of a
// definition in the same group version.
func (d *Groups) withRemote(local []*apiregistrationv1.APIService) []*apiregistrationv1.APIService {
	if d.aggregator == nil {
		return local
	}
	remote := d.aggregator.Remote()
	local = slices.DeleteFunc(local, func(s *apiregistrationv1.APIService) bool {
		return slices.ContainsFunc(remote, func(r *apiregistrationv1.APIService) bool { return r.Name == s.Name })
	})
	return append(local, remote...)
}

// Group returns the group in the form of /apis. The first version is the preferred one.
func Group(versions []schema.GroupVersion) metav1.APIGroup {
	group := metav1.APIGroup{Name: versions[0].Group}
	for _, gv := range versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}
