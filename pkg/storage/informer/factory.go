package informer

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// Factory makes informers, each of which is observed by a [Barrier]. It implements client-go's
// SharedInformerFactory, and can be used in its place. Most of its methods are the accessors of that interface, one
// for each API group.
type Factory struct {
	informers.SharedInformerFactory
	barrier *Barrier
	own     func(runtime.Object, schema.GroupResource) cache.SharedIndexInformer

	mu       sync.Mutex
	checkers []cache.DoneChecker
	changed  []func()
	made     map[schema.GroupResource]cache.SharedIndexInformer
}

var _ informers.SharedInformerFactory = &Factory{}

// NewFactory returns a factory whose informers don't resync and are observed by the barrier. The function
// own makes the informer of a type and its resource. If own is nil, or returns nil, client-go makes the
// informer.
func NewFactory(client kubernetes.Interface, barrier *Barrier, own func(runtime.Object, schema.GroupResource) cache.SharedIndexInformer) *Factory {
	return &Factory{
		SharedInformerFactory: informers.NewSharedInformerFactory(client, 0),
		barrier:               barrier,
		own:                   own,
		made:                  map[schema.GroupResource]cache.SharedIndexInformer{},
	}
}

// Barrier returns the barrier that observes the informers.
func (f *Factory) Barrier() *Barrier { return f.barrier }

// WaitForSync returns when each informer that the barrier observes has made its first list, and each handler has been
// called with all objects of the list. It returns an error if ctx ends earlier. The server calls WaitForSync before
// it is ready. Otherwise the first requests would wait: admission plugins check only every 100 ms whether their
// informers are synced.
func (f *Factory) WaitForSync(ctx context.Context) error {
	f.mu.Lock()
	checkers := append(f.barrier.checkers(), f.checkers...)
	f.mu.Unlock()
	if !cache.WaitFor(ctx, "", checkers...) {
		return fmt.Errorf("the informers of the server haven't listed the stored objects: %w", context.Cause(ctx))
	}
	return nil
}

// Store returns the objects of a resource, or nil if no informer of the resource knows them. Unlike the other methods, Store
// makes no informer. It is for those to whom an informer of their own isn't worth its cost.
func (f *Factory) Store(resource schema.GroupResource) cache.Store {
	f.mu.Lock()
	informer := f.made[resource]
	f.mu.Unlock()
	if informer == nil || informer.IsStopped() || !informer.HasSynced() {
		return nil
	}
	return informer.GetStore()
}

// Resources returns the resources that have an informer.
func (f *Factory) Resources() []schema.GroupResource { return f.barrier.resources() }

// ResourcesChanged must be called when a resource is new or served differently, after the change is in the RESTMapper.
// When ResourcesChanged returns, the policies that have parameters of the resource are active.
func (f *Factory) ResourcesChanged() {
	f.mu.Lock()
	changed := f.changed
	f.mu.Unlock()
	for _, call := range changed {
		call()
	}
}

// Follow makes WaitForSync also wait for the checker, and makes ResourcesChanged also call the function
// resourcesChanged. Plugins use Follow for state that they compute from the informers.
func (f *Factory) Follow(checker cache.DoneChecker, resourcesChanged func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checkers = append(f.checkers, checker)
	f.changed = append(f.changed, resourcesChanged)
}

// InformerFor implements internalinterfaces.SharedInformerFactory.
func (f *Factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return f.SharedInformerFactory.InformerFor(obj, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		resource, err := resourceOf(obj)
		if err != nil {
			return newFunc(client, resync) // obj's type isn't one of the API, so no write of it waits for the barrier
		}
		var informer cache.SharedIndexInformer
		if f.own != nil {
			informer = f.own(obj, resource)
		}
		if informer == nil {
			informer = newFunc(client, resync)
		}
		informer = f.barrier.Observe(resource, informer)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.made[resource] = informer
		return informer
	})
}

// ForResource implements informers.SharedInformerFactory. Its informers are observed, too.
func (f *Factory) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	// The embedded factory would make an informer that isn't observed. InformerFor makes an observed informer,
	// which the embedded factory then finds by the object's Go type.
	if obj := objectFor(gvr); obj != nil {
		if _, err := informers.NewSharedInformerFactory(nil, 0).ForResource(gvr); err != nil {
			return nil, err
		}
		f.InformerFor(obj, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			generic, _ := informers.NewSharedInformerFactory(client, resync).ForResource(gvr)
			return generic.Informer()
		})
	}
	return f.SharedInformerFactory.ForResource(gvr)
}

// resourceOf returns the resource of a Go type in client-go's scheme.
func resourceOf(obj runtime.Object) (schema.GroupResource, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupResource{}, err
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return plural.GroupResource(), nil
}

// objectFor returns an empty object of the resource's Go type, or nil if client-go's scheme has no such resource.
func objectFor(gvr schema.GroupVersionResource) runtime.Object {
	for kind, goType := range scheme.Scheme.KnownTypes(gvr.GroupVersion()) {
		plural, _ := meta.UnsafeGuessKindToResource(gvr.GroupVersion().WithKind(kind))
		if plural != gvr {
			continue
		}
		if obj, ok := reflect.New(goType).Interface().(runtime.Object); ok {
			return obj
		}
	}
	return nil
}

// client-go's accessors would pass client-go's own factory to the groups, and the barrier doesn't observe the
// informers of that factory. The accessors below pass f in its place. TestFactoryInformersAreObserved fails if an
// upgrade of client-go adds a group.

// Admissionregistration implements informers.SharedInformerFactory.
func (f *Factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, metav1.NamespaceAll, nil)
}

// Internal implements informers.SharedInformerFactory.
func (f *Factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, metav1.NamespaceAll, nil)
}

// Apps implements informers.SharedInformerFactory.
func (f *Factory) Apps() apps.Interface { return apps.New(f, metav1.NamespaceAll, nil) }

// Autoscaling implements informers.SharedInformerFactory.
func (f *Factory) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f, metav1.NamespaceAll, nil)
}

// Batch implements informers.SharedInformerFactory.
func (f *Factory) Batch() batch.Interface { return batch.New(f, metav1.NamespaceAll, nil) }

// Certificates implements informers.SharedInformerFactory.
func (f *Factory) Certificates() certificates.Interface {
	return certificates.New(f, metav1.NamespaceAll, nil)
}

// Coordination implements informers.SharedInformerFactory.
func (f *Factory) Coordination() coordination.Interface {
	return coordination.New(f, metav1.NamespaceAll, nil)
}

// Core implements informers.SharedInformerFactory.
func (f *Factory) Core() core.Interface { return core.New(f, metav1.NamespaceAll, nil) }

// Discovery implements informers.SharedInformerFactory.
func (f *Factory) Discovery() discovery.Interface {
	return discovery.New(f, metav1.NamespaceAll, nil)
}

// Events implements informers.SharedInformerFactory.
func (f *Factory) Events() events.Interface { return events.New(f, metav1.NamespaceAll, nil) }

// Extensions implements informers.SharedInformerFactory.
func (f *Factory) Extensions() extensions.Interface {
	return extensions.New(f, metav1.NamespaceAll, nil)
}

// Flowcontrol implements informers.SharedInformerFactory.
func (f *Factory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f, metav1.NamespaceAll, nil)
}

// Lifecycle implements informers.SharedInformerFactory.
func (f *Factory) Lifecycle() lifecycle.Interface {
	return lifecycle.New(f, metav1.NamespaceAll, nil)
}

// Networking implements informers.SharedInformerFactory.
func (f *Factory) Networking() networking.Interface {
	return networking.New(f, metav1.NamespaceAll, nil)
}

// Node implements informers.SharedInformerFactory.
func (f *Factory) Node() node.Interface { return node.New(f, metav1.NamespaceAll, nil) }

// Policy implements informers.SharedInformerFactory.
func (f *Factory) Policy() policy.Interface { return policy.New(f, metav1.NamespaceAll, nil) }

// Rbac implements informers.SharedInformerFactory.
func (f *Factory) Rbac() rbac.Interface { return rbac.New(f, metav1.NamespaceAll, nil) }

// Resource implements informers.SharedInformerFactory.
func (f *Factory) Resource() resource.Interface { return resource.New(f, metav1.NamespaceAll, nil) }

// Scheduling implements informers.SharedInformerFactory.
func (f *Factory) Scheduling() scheduling.Interface {
	return scheduling.New(f, metav1.NamespaceAll, nil)
}

// Storage implements informers.SharedInformerFactory.
func (f *Factory) Storage() storage.Interface { return storage.New(f, metav1.NamespaceAll, nil) }

// Storagemigration implements informers.SharedInformerFactory.
func (f *Factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, metav1.NamespaceAll, nil)
}
