package customresources

import (
	"context"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Hooks are called before the answer to the write that causes the call.
type Hooks struct {
	// Written is called after each write of a custom resource: the resource may be the parameter of a policy.
	Written func(schema.GroupResource, runtime.Object)
	// DefinitionChanged is called when another definition serves requests than before.
	DefinitionChanged func()
}

// Resources are the custom resources of one server.
type Resources struct {
	barrier   *barrier
	stores    stores
	server    *genericapiserver.GenericAPIServer
	informers crdinformers.SharedInformerFactory
	// member is the embedded etcd, or nil.
	member *storage.Member
	// preparer prepares definitions; nil if they aren't served.
	preparer  func() (*preparer, error)
	installed installed
}

// New returns custom resources that are not served yet. Informers run in the context following. When it ends, all
// waits for definitions end.
func New(following context.Context, hooks Hooks) *Resources {
	b := newBarrier(following)
	b.definitionChanged = hooks.DefinitionChanged
	return &Resources{barrier: b, stores: stores{written: hooks.Written, cleanup: &b.cleanup}}
}

// Wait waits until the stores of deleted definitions are destroyed, which happens soon after the last request.
func (r *Resources) Wait() error { return r.stores.wait() }

// Server serves the API of definitions, and the custom resources. It is nil before Build.
func (r *Resources) Server() *genericapiserver.GenericAPIServer { return r.server }

// Informers has the informer of definitions.
func (r *Resources) Informers() crdinformers.SharedInformerFactory { return r.informers }

// Definition is the definition by which requests for a kind are served; nil if there is none.
func (r *Resources) Definition(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	return r.barrier.definition(kind)
}

// Settled returns a handler whose requests wait until earlier deletions of definitions are in effect.
func (r *Resources) Settled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.barrier.settle()
		next.ServeHTTP(w, req)
	})
}

// Observe must be called with each event of the informer of definitions, after all handlers of the informer.
func (r *Resources) Observe(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	r.barrier.observe(crd, deleted)
}
