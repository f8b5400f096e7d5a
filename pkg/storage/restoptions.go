package storage

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
)

var errStopped = errors.New("etcd is stopped")

// RESTOptionsGetter returns the options that inner gives, with the store on this member instead of
// the servers that they name. A resource has a watch cache exactly if inner gives it one.
func (m *Member) RESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &restOptionsGetter{member: m, inner: inner}
}

type restOptionsGetter struct {
	member *Member
	inner  generic.RESTOptionsGetter
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g *restOptionsGetter) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := g.inner.GetRESTOptions(resource, example)
	if err != nil {
		return generic.RESTOptions{}, err
	}
	if undecorated(options.Decorator) {
		options.Decorator = g.member.store
	} else {
		options.Decorator = g.member.cachedStore
	}
	return options, nil
}

// undecorated tells the decorator without a watch cache from the one with it; the options have no
// other sign of the choice.
func undecorated(d generic.StorageDecorator) bool {
	return d == nil || reflect.ValueOf(d).Pointer() == reflect.ValueOf(generic.UndecoratedStorage).Pointer()
}

var _, _ generic.StorageDecorator = (*Member)(nil).store, (*Member)(nil).cachedStore

// store makes the store of a resource: what the library's storage factory makes of an endpoint.
func (m *Member) store(
	c *storagebackend.ConfigForResource,
	resourcePrefix string,
	_ func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object,
	_ storage.AttrFunc,
	_ storage.IndexerFuncs,
	_ *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	transformer := c.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	versioner := storage.APIObjectVersioner{}
	decoder := etcd3.NewDefaultDecoder(c.Codec, versioner)
	deleteMalformed := utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
	if deleteMalformed {
		transformer = etcd3.WithCorruptObjErrorHandlingTransformer(transformer)
		decoder = etcd3.WithCorruptObjErrorHandlingDecoder(decoder)
	}
	raw, err := etcd3.New(m.client, m.compaction.start(m.client.Client, c.CompactionInterval), c.Codec,
		newFunc, newListFunc, c.Prefix, resourcePrefix, c.GroupResource, transformer, c.LeaseManagerConfig, decoder, versioner)
	if err != nil {
		return nil, nil, fmt.Errorf("store of %s: %w", c.GroupResource, err)
	}
	destroy, err := m.own(raw.Close)
	if err != nil {
		return nil, nil, fmt.Errorf("store of %s: %w", c.GroupResource, err)
	}
	if deleteMalformed {
		return etcd3.NewStoreWithUnsafeCorruptObjectDeletion(raw, c.GroupResource), destroy, nil
	}
	return raw, destroy, nil
}

// cachedStore makes the store of a resource behind a watch cache.
func (m *Member) cachedStore(
	c *storagebackend.ConfigForResource,
	resourcePrefix string,
	keyFunc func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object,
	attrsFunc storage.AttrFunc,
	triggers storage.IndexerFuncs,
	indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	raw, destroyRaw, err := m.store(c, resourcePrefix, keyFunc, newFunc, newListFunc, attrsFunc, triggers, indexers)
	if err != nil {
		return nil, nil, err
	}
	cached, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage:             &promptStore{raw, m.progress},
		Clock:               m.clock,
		Versioner:           storage.APIObjectVersioner{},
		GroupResource:       c.GroupResource,
		EventsHistoryWindow: max(c.EventsHistoryWindow, storagebackend.DefaultEventsHistoryWindow),
		ResourcePrefix:      resourcePrefix,
		KeyFunc:             keyFunc,
		NewFunc:             newFunc,
		NewListFunc:         newListFunc,
		GetAttrsFunc:        attrsFunc,
		IndexerFuncs:        triggers,
		Indexers:            indexers,
		Codec:               c.Codec,
	})
	if err != nil {
		destroyRaw()
		return nil, nil, fmt.Errorf("watch cache of %s: %w", c.GroupResource, err)
	}
	delegator := cacher.NewCacheDelegator(cached, raw)
	destroy, err := m.own(func() {
		delegator.Stop()
		cached.Stop()
		destroyRaw()
	})
	if err != nil {
		return nil, nil, fmt.Errorf("watch cache of %s: %w", c.GroupResource, err)
	}
	return delegator, destroy, nil
}

// destroyer destroys a store once, whoever asks first: the registry, which asks several times for
// stores that subresources share, or Stop.
type destroyer struct {
	once    sync.Once
	destroy func()
}

func (d *destroyer) do() { d.once.Do(d.destroy) }

// own makes the member destroy a store in Stop unless that happened before. If the member is
// stopping, it happens now.
func (m *Member) own(destroy func()) (factory.DestroyFunc, error) {
	d := &destroyer{destroy: destroy}
	m.mu.Lock()
	stopped := m.stores == nil
	if !stopped {
		m.stores[d] = struct{}{}
	}
	m.mu.Unlock()
	if stopped {
		destroy()
		return nil, errStopped
	}
	return func() {
		d.do()
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.stores, d)
	}, nil
}

// destroyStores destroys the stores that nobody has destroyed, side by side: each waits for its
// own watches.
func (m *Member) destroyStores() {
	m.mu.Lock()
	stores := m.stores
	m.stores = nil
	m.mu.Unlock()
	var wg sync.WaitGroup
	for d := range stores {
		wg.Go(d.do)
	}
	wg.Wait()
}
