package customresources

import (
	"context"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Hooks are functions that are called after a write and before the answer to the write.
type Hooks struct {
	// Written is called after each write of a custom resource. Admission uses custom resources as parameters of
	// policies.
	Written func(schema.GroupResource, runtime.Object)
	// DefinitionChanged is called after a client's update of a definition and after a restore of a definition, as soon
	// as the server handles requests by the new definition.
	DefinitionChanged func()
}

// Resources builds, serves, discovers, installs and restores the custom resources of one server.
type Resources struct {
	barrier   *barrier
	stores    stores
	server    *genericapiserver.GenericAPIServer
	informers crdinformers.SharedInformerFactory
	// controllers is the number of controllers of definitions that run.
	controllers condition.Variable[int]
	// on is false if --runtime-config turns the API of definitions off. Then there are no custom resources.
	on bool
	// member is the embedded etcd, or nil.
	member *storage.Member
	// preparer makes the preparer that Install uses. It is nil with an external etcd, or if --runtime-config turns the
	// API of definitions off.
	preparer func() (*preparer, error)
	// statusManager is the field manager of the status of definitions.
	statusManager string
	installed     installed
	specs         specs
}

// New returns Resources that serve nothing yet: Build makes them serve. The context following ends when the informers
// end. Then all waits for definitions end.
func New(following context.Context, hooks Hooks) *Resources {
	b := newBarrier(following)
	b.definitionChanged = hooks.DefinitionChanged
	return &Resources{barrier: b, stores: stores{written: hooks.Written, cleanup: &b.cleanup}}
}

// Wait returns when the controllers of definitions have ended and all stores of custom resources are destroyed. It must
// be called after the contexts of the server's start hooks have ended. It waits five seconds for the controllers and
// five seconds for the stores, and returns an error if they take longer. The library destroys the stores of a deleted
// definition about a second after the last request.
func (r *Resources) Wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), teardownTimeout)
	defer cancel()
	if err := r.controllers.Wait(ctx, func(running int) bool { return running == 0 }); err != nil {
		return fmt.Errorf("waiting %s until the controllers of definitions have ended: %w", teardownTimeout, err)
	}
	return r.stores.wait()
}

// Server returns the server of definitions and custom resources. It is nil before Build.
func (r *Resources) Server() *genericapiserver.GenericAPIServer { return r.server }

// Informers returns the factory with the informer of definitions.
func (r *Resources) Informers() crdinformers.SharedInformerFactory { return r.informers }

// Definition returns the definition by which requests for a kind are served, or nil.
func (r *Resources) Definition(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	return r.barrier.definition(kind)
}

// Settled returns a handler that calls next. If the deletion of a definition has just begun, the handler first waits
// until all event handlers of the informer have received the definition with its deletionTimestamp. The server's own
// requests don't wait, because an event handler may make such a request.
func (r *Resources) Settled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !byServer(req.Context()) {
			r.barrier.settle(req.Context())
		}
		next.ServeHTTP(w, req)
	})
}

// Observe handles an event of the informer of definitions. The last handler of the informer must call it with each
// event.
func (r *Resources) Observe(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	r.barrier.observe(crd, deleted)
}
