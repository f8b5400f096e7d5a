package server

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/client-go/tools/cache"
)

// groupDiscovery lists the groups of custom resources in /apis. The library leaves
// that list to kube-aggregator; everything else about custom resources' discovery it
// does itself.
type groupDiscovery struct {
	crds   crdinformers.CustomResourceDefinitionInformer
	groups discovery.GroupManager
	// own are the groups that the registry serves, which stay whatever happens.
	own     map[string]bool
	barrier *crdBarrier

	mu     sync.Mutex
	listed map[string]bool
}

func (d *groupDiscovery) start() error {
	d.listed = map[string]bool{}
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
	d.sync()
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
		d.barrier.observe(crd, deleted)
	}
}

// sync makes the list what the definitions of the moment say.
func (d *groupDiscovery) sync() {
	d.mu.Lock()
	defer d.mu.Unlock()
	crds, err := d.crds.Lister().List(labels.Everything())
	if err != nil {
		utilruntime.HandleErrorWithContext(context.Background(), err, "listing custom resource definitions")
		return
	}
	served := map[string][]schema.GroupVersion{}
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || d.own[crd.Spec.Group] {
			continue
		}
		for _, v := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
			if v.Served && !slices.Contains(served[gv.Group], gv) {
				served[gv.Group] = append(served[gv.Group], gv)
			}
		}
	}
	for group := range d.listed {
		if served[group] == nil {
			d.groups.RemoveGroup(group)
			delete(d.listed, group)
		}
	}
	for group, versions := range served {
		slices.SortFunc(versions, func(a, b schema.GroupVersion) int {
			if c := version.CompareKubeAwareVersionStrings(b.Version, a.Version); c != 0 {
				return c
			}
			return strings.Compare(a.Version, b.Version)
		})
		d.groups.AddGroup(discoveryGroup(versions))
		d.listed[group] = true
	}
}
