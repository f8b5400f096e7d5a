package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
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
	"k8s.io/utils/clock"
)

var errStopped = errors.New("etcd is stopped")

// RESTOptionsGetter returns the options of inner, changed so that the stores are on this member. A resource for
// which inner has a watch cache gets the cache when a request first needs it.
func (m *Member) RESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &restOptionsGetter{inner: inner, backend: &backend{
		store:  m.store,
		source: func(s storage.Interface, key string) storage.Interface { return &promptStore{s, m.hub, key} },
		begin:  func(from, made uint64) uint64 { return beginning(m, from, made) },
		now:    func() uint64 { return uint64(m.server.KV().Rev()) },
		size:   m.size,
		clock:  m.clock,
		own:    m.own,
		run:    m.running.Go,
		counts: &m.counts,
		caches: &m.caches,
	}}
}

// ExternalRESTOptionsGetter returns the options of inner, for an external etcd. Each watch cache is made with its store,
// before the first request, and requests wait until the cache is filled. The cache begins with the newest revision of
// etcd. The caches over an embedded etcd (a Member) begin with an older revision, because a Member has a log of recent
// events.
func ExternalRESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &restOptionsGetter{inner: inner, backend: &backend{
		store:  generic.UndecoratedStorage,
		source: func(s storage.Interface, _ string) storage.Interface { return s },
		begin:  func(uint64, uint64) uint64 { return 0 },
		now:    func() uint64 { return 0 },
		size:   func(context.Context, string) (int64, int64, error) { return 0, 0, nil },
		eager:  true,
		clock:  clock.RealClock{},
		own:    ownDestroy,
		run:    func(f func()) { go f() },
		counts: &counts{},
		caches: &caches{},
	}}
}

// beginning returns the revision with which a new watch cache begins. A watch from an earlier list must get all
// events since the list, so the revision is as early as possible. If from isn't 0, the cache is made for a watch
// from that revision. The cache's store was made at the revision "made". The cache doesn't begin before that
// revision, because the store's codec may not know older versions of a custom resource.
func beginning(m *Member, from, made uint64) uint64 {
	begin := uint64(m.hub.earliest())
	if from != 0 {
		begin = min(begin, from)
	}
	return max(begin, made, uint64(m.hub.beginning()), uint64(m.compaction.CompactRevision()))
}

type restOptionsGetter struct {
	inner   generic.RESTOptionsGetter
	backend *backend
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g *restOptionsGetter) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := g.inner.GetRESTOptions(resource, example)
	if err != nil {
		return generic.RESTOptions{}, err
	}
	decorate := g.backend.cachedStore
	if undecorated(options.Decorator) {
		decorate = g.backend.store
	}
	options.Decorator = g.backend.counts.decorator(decorate, options.CountMetricPollPeriod, options.StorageObjectCountTracker)
	// If the period weren't 0, k8s.io/apiserver would count objects on a goroutine for each resource. The type
	// counts uses one goroutine for all resources.
	options.CountMetricPollPeriod = 0
	return options, nil
}

// undecorated reports whether the decorator makes stores without a watch cache. The options have no other field
// that shows whether a store gets a watch cache.
func undecorated(d generic.StorageDecorator) bool {
	return d == nil || reflect.ValueOf(d).Pointer() == reflect.ValueOf(generic.UndecoratedStorage).Pointer()
}

// backend makes the stores of resources.
type backend struct {
	store  generic.StorageDecorator
	source func(s storage.Interface, key string) storage.Interface // returns the store that fills a watch cache
	begin  func(from, made uint64) uint64                          // returns the revision with which a cache begins; 0 stands for the newest
	now    func() uint64                                           // returns etcd's revision, 0 if it is unknown
	// size returns the number of keys with a prefix, and estimates the size of their values. Only stores that get their
	// cache on demand use it.
	size   func(ctx context.Context, prefix string) (keys, bytes int64, err error)
	eager  bool // whether a cache is made with its store
	clock  clock.WithTicker
	own    func(destroy func()) (factory.DestroyFunc, error)
	run    func(func()) // runs a function on a goroutine; with a Member, Stop waits for its end
	counts *counts
	caches *caches
}

// cachedStore makes the store of a resource as a lazyCache, which gets a watch cache when a request first needs it. If
// the field eager is true, the store gets the cache at once.
func (b *backend) cachedStore(
	c *storagebackend.ConfigForResource,
	resourcePrefix string,
	keyFunc func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object,
	attrsFunc storage.AttrFunc,
	triggers storage.IndexerFuncs,
	indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	codec := &notingCodec{Codec: c.Codec}
	noting := *c
	noting.Codec = codec
	c = &noting
	raw, destroyRaw, err := b.store(c, resourcePrefix, keyFunc, newFunc, newListFunc, attrsFunc, triggers, indexers)
	if err != nil {
		return nil, nil, err
	}
	newCache := func(source storage.Interface) (*cacher.Cacher, error) {
		return cacher.NewCacherFromConfig(cacher.Config{
			Storage:             source,
			Clock:               b.clock,
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
	}
	key := path.Join("/", c.Prefix, resourcePrefix) + "/"
	lazy := &lazyCache{
		Interface: raw, resource: c.GroupResource, source: b.source(raw, key), begin: b.begin, made: b.now(),
		newCache: newCache, newFunc: newFunc, prefix: resourcePrefix, run: b.run, codec: codec,
		estimate: func(ctx context.Context, below string) (int64, int64, error) {
			return b.size(ctx, path.Join("/", c.Prefix, below)+"/")
		},
	}
	b.caches.add(lazy, key)
	destroy, err := b.own(func() {
		b.caches.remove(lazy)
		lazy.destroy()
		destroyRaw()
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making the store of %s: %w", c.GroupResource, err)
	}
	if b.eager {
		if _, err := lazy.open(0); err != nil {
			destroy()
			return nil, nil, err
		}
	}
	return lazy, destroy, nil
}

// store makes the store of a resource without a watch cache. It does the same as the storage factory of
// k8s.io/apiserver, for a Member in place of an endpoint.
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
		return nil, nil, fmt.Errorf("making the store of %s: %w", c.GroupResource, err)
	}
	key := path.Join("/", c.Prefix, resourcePrefix) + "/"
	feed := &Feed{
		hub: m.hub, client: m.client, store: raw, prefix: resourcePrefix, key: key, newFunc: newFunc, newListFunc: newListFunc,
		codec: c.Codec, decoder: decoder, transformer: transformer,
	}
	m.feeds.add(c.GroupResource, feed)
	destroy, err := m.own(func() {
		m.feeds.remove(c.GroupResource, feed)
		raw.Close()
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making the store of %s: %w", c.GroupResource, err)
	}
	if deleteMalformed {
		return etcd3.NewStoreWithUnsafeCorruptObjectDeletion(raw, c.GroupResource), destroy, nil
	}
	return raw, destroy, nil
}

// sampledValues is the number of values from which size estimates the mean length.
const sampledValues = 8

// size returns the number of keys with a prefix, and estimates the size of their values from the first ones.
func (m *Member) size(ctx context.Context, prefix string) (keys, bytes int64, err error) {
	sample, err := m.client.KV.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(sampledValues), clientv3.WithSerializable())
	if err != nil || sample.Count == 0 {
		return 0, 0, err
	}
	for _, kv := range sample.Kvs {
		bytes += int64(len(kv.Value))
	}
	return sample.Count, bytes * sample.Count / int64(len(sample.Kvs)), nil
}

// ownDestroy is the function own of a backend without a Member. It returns a function that destroys the store once.
func ownDestroy(destroy func()) (factory.DestroyFunc, error) {
	return (&destroyer{destroy: destroy}).do, nil
}

// destroyer destroys a store once, however often it is called. k8s.io/apiserver destroys a store once for each of
// its subresources, and Stop destroys the remaining stores.
type destroyer struct {
	once    sync.Once
	destroy func()
}

func (d *destroyer) do() { d.once.Do(d.destroy) }

// own returns the function by which k8s.io/apiserver destroys a store. Stop destroys each store that
// k8s.io/apiserver hasn't destroyed before. If the member is already stopping, own destroys the store at once and
// returns an error.
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

// destroyStores destroys the remaining stores in parallel, because each waits for its own watches to end.
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
