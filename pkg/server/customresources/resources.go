package customresources

import (
	"context"
	"maps"
	"net/http"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// Hooks are called before the answer to the write that they are about.
type Hooks struct {
	// Written is told of each write of a custom resource: the resource may be a policy's parameter.
	Written func(schema.GroupResource, runtime.Object)
	// ResourcesChanged is called when other resources are discovered than before.
	ResourcesChanged func()
	// DefinitionChanged is called when requests are served by another definition than before.
	DefinitionChanged func()
}

// Resources are the custom resources of one server.
type Resources struct {
	hooks   Hooks
	barrier *barrier
	stores  stores
	built   *crdserver.CustomResourceDefinitions
}

// New returns custom resources that are not served yet. No wait for a definition goes on after following has ended, the
// context in which informers run.
func New(following context.Context, hooks Hooks) *Resources {
	b := newBarrier(following)
	b.definitionChanged = hooks.DefinitionChanged
	return &Resources{hooks: hooks, barrier: b, stores: stores{written: hooks.Written, cleanup: &b.cleanup}}
}

// Wait returns when the stores of definitions that are gone are destroyed, which is soon after the last request.
func (r *Resources) Wait() error { return r.stores.wait() }

// Server serves the API of definitions, and custom resources. It is nil before Build.
func (r *Resources) Server() *genericapiserver.GenericAPIServer { return r.built.GenericAPIServer }

// Informers has the informer of definitions.
func (r *Resources) Informers() crdinformers.SharedInformerFactory { return r.built.Informers }

// Definition is the definition by which requests for a kind are served, or will be by the next one; nil if there is
// none. A caller that reads a schema from it must not see the schema before requests do.
func (r *Resources) Definition(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	return r.barrier.definition(kind)
}

// Settled is a handler whose requests wait until the deletions of definitions before them are in effect.
func (r *Resources) Settled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.barrier.settle()
		next.ServeHTTP(w, req)
	})
}

// Observe is told of each event of the informer of definitions, when the groups that are discovered follow from it.
func (r *Resources) Observe(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	r.barrier.observe(crd, deleted)
}

// Discovered is told which resources of a version are discovered from now on.
func (r *Resources) Discovered(gv schema.GroupVersion, resources map[string]apidiscoveryv2.APIResourceDiscovery) {
	r.rediscovered(func(all discoveredResources) { all[gv] = resources })
}

// VersionRemoved is told that nothing of a version is discovered any more.
func (r *Resources) VersionRemoved(gv schema.GroupVersion) {
	r.rediscovered(func(all discoveredResources) { delete(all, gv) })
}

// GroupRemoved is told that nothing of a group is discovered any more.
func (r *Resources) GroupRemoved(group string) {
	r.rediscovered(func(all discoveredResources) {
		maps.DeleteFunc(all, func(gv schema.GroupVersion, _ map[string]apidiscoveryv2.APIResourceDiscovery) bool {
			return gv.Group == group
		})
	})
}

func (r *Resources) rediscovered(change func(discoveredResources)) {
	r.hooks.ResourcesChanged()
	r.barrier.known.Update(func(k *knownDefinitions) { change(k.discovered) })
}
