package serving

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// store is the store of one version in a shared handler. It passes reads and writes to the store of the server in the
// context.
type store struct {
	resource schema.GroupResource
	// open opens the corresponding store in the etcd of a server, with the shared codec.
	open func(server generic.RESTOptionsGetter) (storage.Interface, factory.DestroyFunc, error)
}

var _ storage.Interface = &store{}

// GetRESTOptions implements generic.RESTOptionsGetter for the library's handler, which makes a store of each version.
// The library wraps the codec of the options in a codec that converts and prunes objects. That codec is shared, too.
func (h *shared) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig: &storagebackend.ConfigForResource{Config: storagebackend.Config{Codec: h.codec}, GroupResource: resource},
		Decorator: func(made *storagebackend.ConfigForResource, prefix string, keyFunc func(runtime.Object) (string, error), newFunc, newListFunc func() runtime.Object,
			attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			s := &store{resource: resource}
			s.open = func(server generic.RESTOptionsGetter) (storage.Interface, factory.DestroyFunc, error) {
				options, err := server.GetRESTOptions(resource, nil)
				if err != nil {
					return nil, nil, err
				}
				config := *options.StorageConfig
				config.Codec = made.Codec
				return options.Decorator(&config, prefix, keyFunc, newFunc, newListFunc, attributes, triggers, indexers)
			}
			h.stores = append(h.stores, s)
			return s, func() {}, nil
		},
		EnableGarbageCollection: h.settings.garbageCollection,
		DeleteCollectionWorkers: h.settings.deleteCollectionWorkers,
		ResourcePrefix:          h.settings.prefix,
	}, nil
}

// of returns the store of the server in the context.
func (s *store) of(ctx context.Context) (storage.Interface, error) {
	u, err := useOf(ctx)
	if err != nil {
		return nil, err
	}
	return u.of(s)
}

// Versioner implements storage.Interface.
func (s *store) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface. It always succeeds, because each call that reads or writes waits until the
// server's store is ready.
func (s *store) ReadinessCheck() error { return nil }

// CompactRevision implements storage.Interface. Only a watch cache calls it, and each server has a watch cache of its
// own.
func (s *store) CompactRevision() int64 { return 0 }

// EnableResourceSizeEstimation implements storage.Interface. Only a watch cache calls it.
func (s *store) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// Create implements storage.Interface.
func (s *store) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	of, err := s.of(ctx)
	if err != nil {
		return err
	}
	return of.Create(ctx, key, obj, out, ttl)
}

// Delete implements storage.Interface.
func (s *store) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions) error {
	of, err := s.of(ctx)
	if err != nil {
		return err
	}
	return of.Delete(ctx, key, out, preconditions, validate, cached, options)
}

// Watch implements storage.Interface.
func (s *store) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	of, err := s.of(ctx)
	if err != nil {
		return nil, err
	}
	return of.Watch(ctx, key, options)
}

// Get implements storage.Interface.
func (s *store) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	of, err := s.of(ctx)
	if err != nil {
		return err
	}
	return of.Get(ctx, key, options, out)
}

// GetList implements storage.Interface.
func (s *store) GetList(ctx context.Context, key string, options storage.ListOptions, out runtime.Object) error {
	of, err := s.of(ctx)
	if err != nil {
		return err
	}
	return of.GetList(ctx, key, options, out)
}

// GuaranteedUpdate implements storage.Interface.
func (s *store) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	of, err := s.of(ctx)
	if err != nil {
		return err
	}
	return of.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cached)
}

// Stats implements storage.Interface.
func (s *store) Stats(ctx context.Context) (storage.Stats, error) {
	of, err := s.of(ctx)
	if err != nil {
		return storage.Stats{}, err
	}
	return of.Stats(ctx)
}

// RequestWatchProgress implements storage.Interface.
func (s *store) RequestWatchProgress(ctx context.Context) error {
	of, err := s.of(ctx)
	if err != nil {
		return err
	}
	return of.RequestWatchProgress(ctx)
}

// GetCurrentResourceVersion implements storage.Interface.
func (s *store) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	of, err := s.of(ctx)
	if err != nil {
		return 0, err
	}
	return of.GetCurrentResourceVersion(ctx)
}
