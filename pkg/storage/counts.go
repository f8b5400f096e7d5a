package storage

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	flowcontrolrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// firstCount is the longest time until the objects of a new server are counted for the first time. It is longer than
// the start of a server, because counting would slow the start.
const firstCount = 2 * time.Second

// counts counts the objects of all resources, for the metrics and for API priority and fairness. One goroutine
// counts for all stores; k8s.io/apiserver would use a goroutine for each resource. The zero value is ready for use.
type counts struct {
	mu     sync.Mutex
	stores map[*counted]struct{}
	stop   func() // ends the goroutine that counts, and waits for its end
}

// counted is a store whose objects are counted regularly.
type counted struct {
	storage.Interface
	resource schema.GroupResource
	tracker  flowcontrolrequest.StorageObjectCountTracker
}

// decorator returns a decorator that also counts the objects of the store that inner makes. A store is counted once a
// period, until it is destroyed. The period of the first store applies to all stores.
func (c *counts) decorator(inner generic.StorageDecorator, period time.Duration, tracker flowcontrolrequest.StorageObjectCountTracker) generic.StorageDecorator {
	if period <= 0 {
		return inner
	}
	return func(config *storagebackend.ConfigForResource, prefix string, keyFunc func(runtime.Object) (string, error), newFunc, newListFunc func() runtime.Object,
		attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
		store, destroy, err := inner(config, prefix, keyFunc, newFunc, newListFunc, attributes, triggers, indexers)
		if err != nil {
			return nil, nil, err
		}
		remove := c.add(&counted{store, config.GroupResource, tracker}, period)
		return store, func() {
			remove()
			destroy()
		}, nil
	}
}

// add begins to count the objects of a store. The function remove ends the counting of this store.
func (c *counts) add(s *counted, period time.Duration) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.stores) == 0 {
		c.stores = map[*counted]struct{}{}
		c.start(period)
	}
	c.stores[s] = struct{}{}
	return sync.OnceFunc(func() { c.remove(s) })
}

func (c *counts) start(period time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx, period) })
	c.stop = func() {
		cancel()
		running.Wait()
	}
}

func (c *counts) remove(s *counted) {
	c.mu.Lock()
	_, present := c.stores[s]
	delete(c.stores, s)
	metrics.DeleteStoreStats(s.resource)
	last, stop := present && len(c.stores) == 0, c.stop
	c.mu.Unlock()
	if last {
		stop()
	}
}

// end ends the counting of all stores.
func (c *counts) end() {
	c.mu.Lock()
	left := len(c.stores) > 0
	clear(c.stores)
	stop := c.stop
	c.mu.Unlock()
	if left {
		stop()
	}
}

func (c *counts) run(ctx context.Context, period time.Duration) {
	timer := time.NewTimer(min(firstCount, period))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		stores := slices.Collect(maps.Keys(c.stores))
		c.mu.Unlock()
		for _, s := range stores {
			c.count(ctx, s)
		}
		timer.Reset(period)
	}
}

func (c *counts) count(ctx context.Context, s *counted) {
	stats, err := s.Stats(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.stores[s]; !ok {
		return // the store was destroyed during the count
	}
	metrics.UpdateStoreStats(s.resource, stats, err)
	if err != nil {
		klog.FromContext(ctx).V(5).Info("counting objects failed", "resource", s.resource, "err", err)
	} else if s.tracker != nil {
		s.tracker.Set(s.resource.String(), stats)
	}
}
