package customresources

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
)

// teardownTimeout bounds what a stop waits for; the library's own delay is a second.
const teardownTimeout = 5 * time.Second

// stores are the stores of custom resources. It counts those that aren't destroyed
// yet: the library destroys the ones of a definition that is gone or has changed a second
// later, on a goroutine that a stop would leave behind.
type stores struct {
	// written is called after each write: a custom resource may be a policy's parameter.
	written func(schema.GroupResource, runtime.Object)
	cleanup *cleanup

	open sync.WaitGroup
}

// RESTOptionsGetter counts the stores that are made with what inner says.
func (s *stores) RESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &decoratedOptions{inner, s.decorate}
}

// wait waits until they are all destroyed.
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
		return fmt.Errorf("waiting for the last requests of definitions that are gone: %w", ctx.Err())
	}
}

// decorate counts a store until it is destroyed, and tells of its writes.
func (s *stores) decorate(resource schema.GroupResource, store storage.Interface, destroy factory.DestroyFunc) (storage.Interface, factory.DestroyFunc) {
	s.open.Add(1)
	done := sync.OnceFunc(s.open.Done)
	return &resourceStore{store, resource, s.written, s.cleanup}, func() {
		defer done()
		destroy()
	}
}

// resourceStore tells what it has written before the answer does, and deletes nothing with a definition that is kept.
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
