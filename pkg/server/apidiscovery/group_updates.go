package apidiscovery

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
)

// Groups keeps two things up to date: the list of groups, and the resources of definitions in aggregated discovery.
// The list depends on the built-in groups, on definitions, and on APIServices of other servers.
type Groups struct {
	crds crdinformers.CustomResourceDefinitionInformer
	list *List
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
	// custom keeps the APIServices of the served custom resources, so that each is made only once.
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
	// SetBuiltIn and SetCustom give the aggregator the APIServices of this server's own group versions.
	SetBuiltIn(services []*apiregistrationv1.APIService)
	SetCustom(services []*apiregistrationv1.APIService)
}

// NewGroups returns Groups that keep list up to date. The informer of definitions must call its handlers in the order
// in which they were added, because Groups adds a handler that must be the last one.
func NewGroups(crds crdinformers.CustomResourceDefinitionInformer, list *List, builtIn []*apiregistrationv1.APIService, hooks Hooks) *Groups {
	own := map[schema.GroupVersion]bool{}
	for _, s := range builtIn {
		own[schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}] = true
	}
	list.crds, list.own = crds.Lister(), own
	return &Groups{
		crds: crds, list: list, builtIn: builtIn, own: own, hooks: hooks,
		custom: map[schema.GroupVersion]*apiregistrationv1.APIService{},
	}
}

// Aggregate adds the group versions of other servers. It must be called before Start.
func (d *Groups) Aggregate(aggregator Aggregator) {
	d.aggregator = aggregator
	aggregator.SetBuiltIn(d.builtIn)
}

// Start sets the priorities of the built-in groups in aggregated discovery, makes the list of groups, and adds the
// event handler that keeps both up to date. The result is done when discovery has the groups of the stored definitions.
func (d *Groups) Start(manager aggregated.ResourceManager) (cache.DoneChecker, error) {
	for _, s := range d.builtIn {
		gv := metav1.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}
		manager.SetGroupVersionPriority(gv, int(s.Spec.GroupPriorityMinimum), int(s.Spec.VersionPriority))
	}
	d.resources = custom{
		crds: d.crds.Lister(), manager: manager.WithSource(aggregated.CRDSource),
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
	if d.resources.update(versionsOf(before, crd)) {
		services := d.Sync()
		if d.aggregator != nil {
			d.aggregator.SetCustom(services)
		}
		d.hooks.ResourcesChanged()
	}
	d.hooks.Observe(crd, deleted)
}

// Sync makes the list of groups anew from the present definitions and APIServices, and returns the APIServices of
// custom resources.
func (d *Groups) Sync() []*apiregistrationv1.APIService {
	d.mu.Lock()
	defer d.mu.Unlock()
	custom, err := d.customAPIServices()
	if err != nil {
		utilruntime.HandleErrorWithContext(context.Background(), err, "listing custom resource definitions")
		return nil
	}
	services := d.withRemote(slices.Concat(d.builtIn, custom))
	// Many definitions may come before the next request for the list.
	groups := sync.OnceValue(func() []metav1.APIGroup { return groupsOf(services) })
	d.list.groups.Store(&groups)
	return custom
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

// customAPIServices returns the APIServices of custom resources. A definition may add a version to a built-in group. A
// definition in a built-in version has no effect.
func (d *Groups) customAPIServices() ([]*apiregistrationv1.APIService, error) {
	crds, err := d.crds.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	before := d.custom
	d.custom = make(map[schema.GroupVersion]*apiregistrationv1.APIService, len(before))
	var services []*apiregistrationv1.APIService
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		for _, v := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
			if !v.Served || d.custom[gv] != nil || d.own[gv] {
				continue
			}
			service := before[gv]
			if service == nil {
				service = aggregation.Custom(gv)
			}
			d.custom[gv] = service
			services = append(services, service)
		}
	}
	return services, nil
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
