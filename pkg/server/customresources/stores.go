package customresources

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources/serving"
)

// teardownTimeout limits the time for which a stop waits until the stores are destroyed. The library and package serving
// delay the destruction by a second.
const teardownTimeout = 5 * time.Second

// stores counts the open stores of custom resources. When a definition changes or is deleted, the library or package
// serving destroys its stores in a goroutine, at least a second later. A stop must wait for that goroutine.
type stores struct {
	// written is called after each write of a custom resource. Admission uses custom resources as parameters of
	// policies.
	written func(schema.GroupResource, runtime.Object)
	cleanup *cleanup

	open condition.Variable[openStores]

	lister crdlisters.CustomResourceDefinitionLister // set once, before the first request
	gone   goneMetrics
	mu     sync.Mutex
	// current has the stores that requests use, by the name of the definition.
	current map[string][]madeStore
}

// madeStore is the definition that an open store was made for, and the function that destroys the store.
type madeStore struct {
	of  *apiextensionsv1.CustomResourceDefinition
	end func()
}

// openStores is a number of open stores. Its String method makes the error of a wait readable.
type openStores int

// String implements fmt.Stringer.
func (n openStores) String() string { return fmt.Sprintf("%d open stores", int(n)) }

// RESTOptionsGetter returns a getter that counts the stores made by inner.
func (s *stores) RESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &decoratedOptions{inner, s.decorate}
}

// wait waits until all stores are destroyed, but no longer than teardownTimeout. Then it removes the metrics of deleted
// definitions.
func (s *stores) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), teardownTimeout)
	defer cancel()
	defer s.removeMetrics()
	if err := s.open.Wait(ctx, func(open openStores) bool { return open == 0 }); err != nil {
		return fmt.Errorf("waiting %s until the stores of custom resources are closed: requests may still use them: %w", teardownTimeout, err)
	}
	return nil
}

// decorate returns a store that counts as open until it is destroyed, and that calls the function written after each
// write.
func (s *stores) decorate(resource schema.GroupResource, store storage.Interface, destroy factory.DestroyFunc) (storage.Interface, factory.DestroyFunc) {
	made := &resourceStore{Interface: store, resource: resource, written: s.written, cleanup: s.cleanup}
	s.open.Update(func(open *openStores) { *open++ })
	end := sync.OnceFunc(func() {
		defer s.open.Update(func(open *openStores) { *open-- })
		destroy()
		s.forget(resource)
	})
	s.mu.Lock() // lock before the lookup, so that changed handles any later event of the definition after this function
	defer s.mu.Unlock()
	if crd, err := s.lister.Get(resource.String()); err == nil {
		made.version = storedVersion(crd)
		if s.current == nil {
			s.current = map[string][]madeStore{}
		}
		s.current[crd.Name] = append(s.current[crd.Name], madeStore{crd, end})
	}
	return made, end
}

// changed handles an event of the informer, after the library and package serving have handled it. If the event ends
// the stores of a definition, the library and package serving destroy these stores, and changed removes them from
// current.
func (s *stores) changed(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(s.current[crd.Name], func(made madeStore) bool {
		return serving.Superseded(made.of, crd, deleted, s.lister)
	})
	if len(left) > 0 {
		s.current[crd.Name] = left
	} else {
		delete(s.current, crd.Name)
	}
}

// destroy destroys the stores in the field current. It must be called after the last request. The library and package
// serving destroy the stores of changed and deleted definitions.
func (s *stores) destroy() {
	s.mu.Lock()
	current := s.current
	s.current = nil
	s.mu.Unlock()
	for _, ofDefinition := range current {
		for _, made := range ofDefinition {
			made.end()
		}
	}
}

// resourceStore is the store of a custom resource. It calls written before the answer to each write. If a restore of a
// snapshot brings a definition back, resourceStore protects the definition's custom resources from the controllers that
// delete them.
type resourceStore struct {
	storage.Interface
	resource schema.GroupResource
	written  func(schema.GroupResource, runtime.Object)
	cleanup  *cleanup
	// version is the version in which the custom resources are stored.
	version string
}

// storedVersion returns the version in which the custom resources of a definition are stored.
func storedVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// record adds the written object to the trace of the request. The object may differ from the object that passed
// admission: the codec of the store removes fields that the schema doesn't have, and converts the object.
func (s *resourceStore) record(ctx context.Context, written runtime.Object) {
	scope := recorder.From(ctx)
	if scope == nil {
		return
	}
	encoded, err := json.Marshal(written)
	if err != nil {
		return // the store has just decoded the object from JSON
	}
	kind := written.GetObjectKind().GroupVersionKind()
	scope.Stores(trace.Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}, recorder.Encoding{Bytes: encoded}, s.version)
}

// Create implements storage.Interface.
func (s *resourceStore) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := s.Interface.Create(ctx, key, obj, out, ttl); err != nil {
		return err
	}
	s.record(ctx, out)
	s.written(s.resource, out)
	return nil
}

// GuaranteedUpdate implements storage.Interface.
func (s *resourceStore) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	if err := s.cleanup.write(ctx, s.resource, func() error {
		return s.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cached)
	}); err != nil {
		return err
	}
	s.record(ctx, destination)
	s.written(s.resource, destination)
	return nil
}

// Delete implements storage.Interface.
func (s *resourceStore) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions) error {
	if err := s.cleanup.write(ctx, s.resource, func() error {
		return s.Interface.Delete(ctx, key, out, preconditions, validate, cached, options)
	}); err != nil {
		return err
	}
	s.written(s.resource, out)
	return nil
}
