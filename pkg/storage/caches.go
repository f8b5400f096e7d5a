package storage

import (
	"context"
	"strings"
	"sync"
)

// caches is the list of a member's stores that have a watch cache or may get one. The zero value is an empty list.
type caches struct {
	mu sync.Mutex
	// stores maps each store to the prefix of its keys in etcd.
	stores map[*lazyCache]string
}

func (c *caches) add(s *lazyCache, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stores == nil {
		c.stores = map[*lazyCache]string{}
	}
	c.stores[s] = key
}

func (c *caches) remove(s *lazyCache) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.stores, s)
}

// await waits until the watch caches have seen the changes. The changes were written to etcd directly, without the
// stores.
func (c *caches) await(ctx context.Context, changes []Change) {
	behind := map[*lazyCache]int64{}
	c.mu.Lock()
	for s, key := range c.stores {
		for _, change := range changes {
			if s.cached.Load() != nil && strings.HasPrefix(change.Key, key) {
				behind[s] = max(behind[s], change.Revision)
			}
		}
	}
	c.mu.Unlock()
	for s, revision := range behind {
		if revision != 0 {
			s.await(ctx, revision)
		}
	}
}
