package customresources

import (
	"context"
	"fmt"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
)

// teardownTimeout limits the wait during a stop. The library's own delay is a second.
const teardownTimeout = 5 * time.Second

// stores counts the stores of custom resources that aren't destroyed yet. The library destroys the stores of a
// changed or deleted definition a second later, in a goroutine that would outlive a stop.
type stores struct {
	// written is called after each write: a custom resource may be the parameter of a policy.
	written func(schema.GroupResource, runtime.Object)
	cleanup *cleanup

	open sync.WaitGroup

	lister crdlisters.CustomResourceDefinitionLister // set before the first request
	mu     sync.Mutex
	// current are the stores that the library has for requests, and the definitions that they were made of.
	current map[*resourceStore]madeStore
}

// madeStore is an open store.
type madeStore struct {
	of  *apiextensionsv1.CustomResourceDefinition
	end func()
}

// RESTOptionsGetter returns a getter that counts the stores made with inner.
func (s *stores) RESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &decoratedOptions{inner, s.decorate}
}

// wait waits until all stores are destroyed.
func (s *stores) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), teardownTimeout)
	defer cancel()
	destroyed := make(chan struct{})
	go func() {
		defer close(destroyed)
		s.open.Wait()
	}()
	select {
	case <-destroyed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of requests for deleted CustomResourceDefinitions: %w", ctx.Err())
	}
}

// decorate counts a store until it is destroyed, and reports its writes.
func (s *stores) decorate(resource schema.GroupResource, store storage.Interface, destroy factory.DestroyFunc) (storage.Interface, factory.DestroyFunc) {
	made := &resourceStore{store, resource, s.written, s.cleanup}
	s.open.Add(1)
	end := sync.OnceFunc(func() {
		defer s.open.Done()
		destroy()
	})
	s.mu.Lock() // before the lookup, so that changed for a later event follows
	defer s.mu.Unlock()
	if crd, err := s.lister.Get(resource.String()); err == nil {
		if s.current == nil {
			s.current = map[*resourceStore]madeStore{}
		}
		s.current[made] = madeStore{crd, end}
	}
	return made, end
}

// changed handles an event of the informer, after the library's handler of custom resources. The library destroys
// the stores of a definition that is gone, or that has another spec or other names.
func (s *stores) changed(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for store, made := range s.current {
		switch {
		case deleted:
			if now, err := s.lister.Get(made.of.Name); err == nil && now.UID == made.of.UID {
				continue
			}
		case crd.Name != made.of.Name:
			continue
		case crd.UID == made.of.UID && equality.Semantic.DeepEqual(crd.Spec, made.of.Spec) &&
			equality.Semantic.DeepEqual(crd.Status.AcceptedNames, made.of.Status.AcceptedNames):
			continue
		}
		delete(s.current, store)
	}
}

// destroy destroys the stores that the library has for requests, when there are no requests any more.
func (s *stores) destroy() {
	s.mu.Lock()
	current := s.current
	s.current = nil
	s.mu.Unlock()
	for _, made := range current {
		made.end()
	}
}

// resourceStore reports each write before its answer. It refuses to delete the custom resources of a restored
// definition.
type resourceStore struct {
	storage.Interface
	resource schema.GroupResource
	written  func(schema.GroupResource, runtime.Object)
	cleanup  *cleanup
}

// Create implements storage.Interface.
func (s *resourceStore) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := s.Interface.Create(ctx, key, obj, out, ttl); err != nil {
		return err
	}
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
