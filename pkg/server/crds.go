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
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
)

// groupDiscovery lists the groups of custom resources, and of other servers, in /apis.
// The library leaves that list to kube-aggregator; everything else about custom
// resources' discovery it does itself.
type groupDiscovery struct {
	crds   crdinformers.CustomResourceDefinitionInformer
	groups discovery.GroupManager
	// own are the groups that the registry serves, which stay whatever happens.
	own     map[string]bool
	barrier *crdBarrier
	// aggregator has the group versions of other servers; nil if none can be.
	aggregator *aggregation.Aggregator

	mu sync.Mutex
	// listed are the groups of custom resources and of other servers.
	listed map[string]metav1.APIGroup
	// custom are the APIServices of custom resources, made once.
	custom map[schema.GroupVersion]*apiregistrationv1.APIService
}

func (d *groupDiscovery) start() error {
	d.listed, d.custom = map[string]metav1.APIGroup{}, map[schema.GroupVersion]*apiregistrationv1.APIService{}
	d.groups.AddGroup(discoveryGroup([]schema.GroupVersion{apiextensionsv1.SchemeGroupVersion}))
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
	served := map[string]metav1.APIGroup{}
	for _, group := range helper.SortedByGroupAndVersion(d.withRemote(custom)) {
		var versions []schema.GroupVersion
		for _, s := range group {
			versions = append(versions, schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version})
		}
		if name := versions[0].Group; !d.own[name] {
			served[name] = discoveryGroup(versions)
			d.groups.AddGroup(served[name])
		}
	}
	for group := range d.listed {
		if _, ok := served[group]; !ok {
			d.groups.RemoveGroup(group)
		}
	}
	d.listed = served
	return custom
}

// group is what is listed of a group.
func (d *groupDiscovery) group(name string) (metav1.APIGroup, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	group, ok := d.listed[name]
	return group, ok
}

// customAPIServices are those of the custom resources that are served.
func (d *groupDiscovery) customAPIServices() ([]*apiregistrationv1.APIService, error) {
	crds, err := d.crds.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	served := map[schema.GroupVersion]bool{}
	var services []*apiregistrationv1.APIService
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || d.own[crd.Spec.Group] {
			continue
		}
		for _, v := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
			if !v.Served || served[gv] {
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
func (d *groupDiscovery) withRemote(custom []*apiregistrationv1.APIService) []*apiregistrationv1.APIService {
	if d.aggregator == nil {
		return slices.Clone(custom)
	}
	remote := d.aggregator.Remote()
	all := slices.DeleteFunc(slices.Clone(custom), func(s *apiregistrationv1.APIService) bool {
		return slices.ContainsFunc(remote, func(r *apiregistrationv1.APIService) bool { return r.Name == s.Name })
	})
	return append(all, remote...)
}
