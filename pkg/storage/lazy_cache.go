package storage

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

const (
	// longList and longListBytes are the number of objects and their estimated size from which a list counts as long (see
	// listPays). The store answers shorter lists in less time than it takes to fill a new cache.
	longList      = 200
	longListBytes = 1 << 20

	// firstFill bounds the time for which requests wait until a new cache is filled. A cache of many objects may take
	// longer: requests wait while objects are decoded, but no longer than longFill.
	firstFill = 5 * time.Second
	longFill  = 30 * time.Second
)

// lazyCache is a store that gets its watch cache when a request first needs it. A watch needs a cache (see WithoutCache
// for the exception), and so does a read of a resource version, because only a cache can wait for the version. A list of
// any version with a limit also needs a cache (see storeLists). Long lists share the objects of the cache (see listPays).
//
// A cache takes ten goroutines and 100 kB. A server has some eighty resources, and most tests and users need five
// of them.
//
// Clients must not notice when a cache is made. So the cache begins with a revision from before it was made: a
// client can watch from an earlier list. And requests wait until the cache is filled (see firstFill). A cache of k8s.io/apiserver that isn't filled answers "storage is (re)initializing", and clients repeat the request
// only after a second.
type lazyCache struct {
	storage.Interface // the store without a cache
	resource          schema.GroupResource
	// begin returns the revision with which a new cache begins, or 0 for the newest revision. from is the revision
	// from which a watch is about to begin, or 0. made is the revision at which the store was made.
	begin    func(from, made uint64) uint64
	made     uint64            // the revision at which the store was made
	source   storage.Interface // the store that fills the cache
	newCache func(source storage.Interface) (*cacher.Cacher, error)
	newFunc  func() runtime.Object
	prefix   string
	run      func(func()) // runs a function on a goroutine
	codec    *notingCodec // the store's codec
	// estimate returns the number of the objects below a key, and estimates the size of all of them.
	estimate func(ctx context.Context, key string) (objects, bytes int64, err error)

	long      atomic.Bool // whether a long list has begun
	cached    atomic.Pointer[watchCache]
	mu        sync.Mutex // held while the cache is made or destroyed
	destroyed bool
}

var _ storage.Interface = (*lazyCache)(nil)

// cache returns the watch cache, and makes it first if there is none. It waits until the cache is filled, or until fill
// gives up; after that, the cache itself answers that it isn't ready. from is the resource version
// with which the caller's watch begins, or 0.
func (s *lazyCache) cache(ctx context.Context, from uint64) (*watchCache, error) {
	c := s.cached.Load()
	if c == nil {
		var err error
		if c, err = s.open(from); err != nil {
			return nil, err
		}
	}
	_ = c.progress.Wait(ctx, cacheProgress.isFilled)
	return c, nil
}

func (s *lazyCache) open(from uint64) (*watchCache, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.destroyed {
		// A stopped watch cache of k8s.io/apiserver returns an error with the same text.
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("storage of %s is stopped", s.resource), 1)
	}
	if c := s.cached.Load(); c != nil {
		return c, nil
	}
	begin := s.begin(from, s.made)
	made, err := s.newCache(&pastSource{s.source, begin, &s.codec.failed})
	if err != nil {
		return nil, fmt.Errorf("making the watch cache of %s: %w", s.resource, err)
	}
	life, end := context.WithCancel(context.Background())
	c := &watchCache{CacheDelegator: cacher.NewCacheDelegator(made, s.Interface), cacher: made, end: end}
	s.run(func() {
		defer c.progress.Update(func(p *cacheProgress) { p.filled = true })
		if s.fill(life, made) == nil && begin != 0 {
			s.catchUp(life, made)
		}
	})
	s.cached.Store(c)
	return c, nil
}

// fill waits until the cache has its first objects. It gives up if no object has been decoded for firstFill, or after
// longFill.
func (s *lazyCache) fill(life context.Context, c *cacher.Cacher) error {
	life, cancel := context.WithTimeout(life, longFill)
	defer cancel()
	for {
		decoded := s.codec.decoded.Load()
		ctx, cancel := context.WithTimeout(life, firstFill)
		err := c.Wait(ctx)
		cancel()
		if err == nil || life.Err() != nil || s.codec.decoded.Load() == decoded {
			return err
		}
	}
}

// catchUp waits until a cache that began with an old revision has the store's current objects. catchUp returns no
// error, because reads of the cache report a failure themselves.
func (s *lazyCache) catchUp(ctx context.Context, c *cacher.Cacher) {
	ctx, cancel := context.WithTimeout(ctx, firstFill)
	defer cancel()
	now, err := s.source.GetCurrentResourceVersion(ctx)
	if err != nil {
		return
	}
	nothing := storage.GetOptions{ResourceVersion: strconv.FormatUint(now, 10), IgnoreNotFound: true}
	_ = c.Get(ctx, s.prefix+"/", nothing, s.newFunc())
}

// await waits until the cache has reached the revision, or is destroyed. It returns at once if there is no cache.
func (s *lazyCache) await(ctx context.Context, revision int64) {
	s.mu.Lock()
	c := s.cached.Load()
	if c == nil || s.destroyed {
		s.mu.Unlock()
		return
	}
	s.run(func() {
		defer c.progress.Update(func(p *cacheProgress) { p.seen = max(p.seen, revision) })
		// Get waits until the cache has reached the revision. It goes on waiting after ctx has ended, so it runs on a
		// goroutine of its own. The object isn't used.
		nothing := storage.GetOptions{ResourceVersion: strconv.FormatInt(revision, 10), IgnoreNotFound: true}
		_ = c.Get(ctx, s.prefix+"/", nothing, s.newFunc())
	})
	s.mu.Unlock()
	_ = c.progress.Wait(ctx, func(p cacheProgress) bool { return p.ended || p.seen >= revision })
}

// destroy ends the cache, if there is one. No cache can be made afterwards.
func (s *lazyCache) destroy() {
	s.mu.Lock()
	s.destroyed = true
	c := s.cached.Load()
	s.mu.Unlock()
	if c != nil {
		c.destroy()
	}
}

// withoutCache is the key under which WithoutCache stores its value in a context.
type withoutCache struct{}

// WithoutCache returns a context for watches that need no watch cache: they neither resume from a resource version
// nor use bookmarks. Such a watch doesn't make the cache.
func WithoutCache(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutCache{}, true)
}

// Watch implements storage.Interface.
func (s *lazyCache) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if ctx.Value(withoutCache{}) != nil {
		return s.Interface.Watch(ctx, key, opts)
	}
	from, err := s.Versioner().ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	c, err := s.cache(ctx, from)
	if err != nil {
		return nil, err
	}
	return c.Watch(ctx, key, opts)
}

// Get implements storage.Interface.
func (s *lazyCache) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	if s.cached.Load() == nil && (opts.ResourceVersion == "" || opts.ResourceVersion == "0") {
		return s.Interface.Get(ctx, key, opts, out)
	}
	c, err := s.cache(ctx, 0)
	if err != nil {
		return err
	}
	return c.Get(ctx, key, opts, out)
}

// GetList implements storage.Interface.
func (s *lazyCache) GetList(ctx context.Context, key string, opts storage.ListOptions, out runtime.Object) error {
	if s.cached.Load() == nil && storeLists(opts) && !s.listPays(ctx, key, opts) {
		return s.Interface.GetList(ctx, key, opts, out)
	}
	c, err := s.cache(ctx, 0)
	if err != nil {
		return err
	}
	return c.GetList(ctx, key, opts, out)
}

// listPays reports whether a list pays for making the cache. A long list of all objects does: most clients that list all
// objects watch them afterwards, which needs the cache, and others may list them at the same time. So does each list after
// a long list of some objects or a long page. The pages after the first one belong to the list of the first page.
func (s *lazyCache) listPays(ctx context.Context, key string, opts storage.ListOptions) bool {
	page := opts.Predicate.Limit
	if opts.Predicate.Continue != "" || !opts.Recursive {
		return false
	}
	if s.long.Load() {
		return true
	}
	objects, bytes, err := s.estimate(ctx, key)
	if err != nil || objects == 0 {
		return false // the list reports the error
	}
	// With a selector, the store decodes objects until a page has as many as the limit.
	if 0 < page && page < objects && opts.Predicate.Empty() {
		objects, bytes = page, bytes/objects*page
	}
	if objects < longList && bytes < longListBytes {
		return false
	}
	before := s.long.Swap(true)
	return before || page == 0 && path.Clean(key) == path.Clean(s.prefix)
}

// storeLists reports whether the store answers a list in the same way as a cache.
func storeLists(opts storage.ListOptions) bool {
	switch opts.ResourceVersion {
	case "": // the newest objects, or the objects after a continue token
		return true
	case "0": // any revision will do; a cache ignores the limit and lists everything
		return opts.ResourceVersionMatch != metav1.ResourceVersionMatchExact && opts.Predicate.Limit == 0
	default:
		return false
	}
}

// Delete implements storage.Interface. It ignores the cached object that the caller offers, because the object may
// be old. If there is a watch cache, the store gets the object of the cache.
func (s *lazyCache) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, opts storage.DeleteOptions) error {
	return s.current().Delete(ctx, key, out, preconditions, validate, nil, opts)
}

// GuaranteedUpdate implements storage.Interface.
func (s *lazyCache) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, _ runtime.Object) error {
	return s.current().GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, nil)
}

// ReadinessCheck implements storage.Interface. A store without a cache is always ready.
func (s *lazyCache) ReadinessCheck() error { return s.current().ReadinessCheck() }

// CompactRevision implements storage.Interface.
func (s *lazyCache) CompactRevision() int64 { return s.current().CompactRevision() }

// current returns the cache if there is one, and the store otherwise.
func (s *lazyCache) current() storage.Interface {
	if c := s.cached.Load(); c != nil {
		return c
	}
	return s.Interface
}

// watchCache is a store with its watch cache.
type watchCache struct {
	*cacher.CacheDelegator
	cacher   *cacher.Cacher
	end      context.CancelFunc // ends the goroutine that waits until the cache is filled
	progress condition.Variable[cacheProgress]
}

// cacheProgress is the progress of a watch cache.
type cacheProgress struct {
	// filled is true when the cache is filled, or when fill has given up. Requests can then use the cache.
	filled bool
	// seen is the newest revision that the cache is known to have reached. The method await sets it.
	seen int64
	// ended is true when the cache is destroyed.
	ended bool
}

func (p cacheProgress) isFilled() bool { return p.filled }

func (c *watchCache) destroy() {
	c.end()
	c.progress.Update(func(p *cacheProgress) { p.ended = true })
	c.Stop()
	c.cacher.Stop()
}

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

// await waits until the watch caches have the changes. The changes were written to etcd directly, without the
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
