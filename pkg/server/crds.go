package server

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

// groupDiscovery keeps the list of groups what the registry, definitions and other servers have. The library leaves
// that to kube-aggregator; everything else about custom resources' discovery it does itself.
type groupDiscovery struct {
	crds crdinformers.CustomResourceDefinitionInformer
	list *groupList
	// builtIn are the APIServices of this server's own group versions, which stay whatever happens; own are these
	// group versions.
	builtIn []*apiregistrationv1.APIService
	own     map[schema.GroupVersion]bool
	barrier *crdBarrier
	// aggregator has the group versions of other servers; nil if none can be.
	aggregator *aggregation.Aggregator

	mu sync.Mutex
	// custom are the APIServices of custom resources, made once.
	custom map[schema.GroupVersion]*apiregistrationv1.APIService
}

func newGroupDiscovery(crds crdinformers.CustomResourceDefinitionInformer, list *groupList,
	builtIn []*apiregistrationv1.APIService, barrier *crdBarrier) *groupDiscovery {
	own := map[schema.GroupVersion]bool{}
	for _, s := range builtIn {
		own[schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}] = true
	}
	return &groupDiscovery{
		crds: crds, list: list, builtIn: builtIn, own: own, barrier: barrier,
		custom: map[schema.GroupVersion]*apiregistrationv1.APIService{},
	}
}

// start lists the groups in the order of their priorities, in aggregated discovery too.
func (d *groupDiscovery) start(aggregated aggregated.ResourceManager) error {
	for _, s := range d.builtIn {
		gv := metav1.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}
		aggregated.SetGroupVersionPriority(gv, int(s.Spec.GroupPriorityMinimum), int(s.Spec.VersionPriority))
	}
	d.sync()
	_, err := d.crds.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { d.handle(obj, false) },
		UpdateFunc: func(_, obj any) { d.handle(obj, false) },
		DeleteFunc: func(obj any) { d.handle(obj, true) },
	})
	return err
}

// handle brings the list up to date before the barrier lets go of whoever changed it.
func (d *groupDiscovery) handle(obj any, deleted bool) {
	custom := d.sync()
	if d.aggregator != nil {
		d.aggregator.SetCustom(custom)
	}
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
		d.barrier.observe(crd, deleted)
	}
}

// sync makes the list what the definitions and APIServices of the moment say, and returns the APIServices of custom
// resources.
func (d *groupDiscovery) sync() []*apiregistrationv1.APIService {
	d.mu.Lock()
	defer d.mu.Unlock()
	custom, err := d.customAPIServices()
	if err != nil {
		utilruntime.HandleErrorWithContext(context.Background(), err, "listing custom resource definitions")
		return nil
	}
	var groups []metav1.APIGroup
	for _, services := range helper.SortedByGroupAndVersion(d.withRemote(slices.Concat(d.builtIn, custom))) {
		var versions []schema.GroupVersion
		for _, s := range services {
			versions = append(versions, schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version})
		}
		if versions[0].Group != "" {
			groups = append(groups, discoveryGroup(versions))
		}
	}
	d.list.groups.Store(&groups)
	return custom
}

// customAPIServices are those of the custom resources that are served. A definition may add a version to a group that
// is built in. A version that is built in stays as it is, whatever definitions name it.
func (d *groupDiscovery) customAPIServices() ([]*apiregistrationv1.APIService, error) {
	crds, err := d.crds.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	served := map[schema.GroupVersion]bool{}
	var services []*apiregistrationv1.APIService
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		for _, v := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
			if !v.Served || served[gv] || d.own[gv] {
				continue
			}
			served[gv] = true
			if d.custom[gv] == nil {
				d.custom[gv] = aggregation.Custom(gv)
			}
			services = append(services, d.custom[gv])
		}
	}
	return services, nil
}

// withRemote adds the APIServices of other servers, which have the group versions that they name.
func (d *groupDiscovery) withRemote(local []*apiregistrationv1.APIService) []*apiregistrationv1.APIService {
	if d.aggregator == nil {
		return local
	}
	remote := d.aggregator.Remote()
	local = slices.DeleteFunc(local, func(s *apiregistrationv1.APIService) bool {
		return slices.ContainsFunc(remote, func(r *apiregistrationv1.APIService) bool { return r.Name == s.Name })
	})
	return append(local, remote...)
}
