package storage

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

const (
	// longList is how many objects a list must have for its resource to be worth a watch cache. A
	// shorter one is read from the store in less time than a cache takes to begin.
	longList = 200

	// firstFill bounds how long requests wait for a new cache.
	firstFill = 5 * time.Second
)

// lazyCache is a store that gets its watch cache when somebody needs it: with the first watch, with
// the first read of a resource version, which only a cache can wait for, and after a long list. A
// cache takes ten goroutines and 100 kB, and a server has some eighty resources, of which most
// tests and people use five.
//
// Two things must not tell. The cache begins with a version from before it was needed, so that who
// has listed can watch from there. And whoever comes before it is filled waits for it; the library
// would answer that "storage is (re)initializing", upon which a client is gone for a second.
type lazyCache struct {
	storage.Interface // the store itself
	resource          schema.GroupResource
	begin             func(from, made uint64) uint64 // the revision that a cache begins with, 0 for the newest
	made              uint64                         // the revision at which the store was made
	source            storage.Interface              // what a cache is filled from
	newCache          func(source storage.Interface) (*cacher.Cacher, error)
	newFunc           func() runtime.Object
	prefix            string
	run               func(func()) // on a goroutine
	failed            *atomic.Bool // see notingCodec

	long      atomic.Bool // a list has been long
	cached    atomic.Pointer[watchCache]
	mu        sync.Mutex // held to make or destroy the cache
	destroyed bool
}

var _ storage.Interface = (*lazyCache)(nil)

// cache returns the watch cache, which is filled unless that takes too long: then the cache itself
// answers that it isn't ready. A watch from the resource version, if it isn't 0, is what needs it.
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
		// What a stopped cache says.
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("storage of %s is stopped", s.resource), 1)
	}
	if c := s.cached.Load(); c != nil {
		return c, nil
	}
	begin := s.begin(from, s.made)
	made, err := s.newCache(&pastSource{s.source, begin, s.failed})
	if err != nil {
		return nil, fmt.Errorf("watch cache of %s: %w", s.resource, err)
	}
	life, end := context.WithCancel(context.Background())
	c := &watchCache{CacheDelegator: cacher.NewCacheDelegator(made, s.Interface), cacher: made, end: end}
	s.run(func() {
		ctx, cancel := context.WithTimeout(life, firstFill)
		defer c.progress.Update(func(p *cacheProgress) { p.filled = true })
		defer cancel()
		if made.Wait(ctx) == nil && begin != 0 {
			s.catchUp(ctx, made)
		}
	})
	s.cached.Store(c)
	return c, nil
}

// catchUp waits until a cache that begins in the past has what the store has now. If that fails, the
// cache will say so itself.
func (s *lazyCache) catchUp(ctx context.Context, c *cacher.Cacher) {
	now, err := s.source.GetCurrentResourceVersion(ctx)
	if err != nil {
		return
	}
	nothing := storage.GetOptions{ResourceVersion: strconv.FormatUint(now, 10), IgnoreNotFound: true}
	_ = c.Get(ctx, s.prefix+"/", nothing, s.newFunc())
}

// await waits until the cache, if there is one, has seen the revision, or is destroyed.
func (s *lazyCache) await(ctx context.Context, revision int64) {
	s.mu.Lock()
	c := s.cached.Load()
	if c == nil || s.destroyed {
		s.mu.Unlock()
		return
	}
	s.run(func() {
		defer c.progress.Update(func(p *cacheProgress) { p.seen = max(p.seen, revision) })
		// The read waits, whatever becomes of its context; what it finds doesn't matter.
		nothing := storage.GetOptions{ResourceVersion: strconv.FormatInt(revision, 10), IgnoreNotFound: true}
		_ = c.Get(ctx, s.prefix+"/", nothing, s.newFunc())
	})
	s.mu.Unlock()
	_ = c.progress.Wait(ctx, func(p cacheProgress) bool { return p.ended || p.seen >= revision })
}

// destroy ends the cache, if there is one, and prevents that there will be.
func (s *lazyCache) destroy() {
	s.mu.Lock()
	s.destroyed = true
	c := s.cached.Load()
	s.mu.Unlock()
	if c != nil {
		c.destroy()
	}
}

// withoutCache is the key of what WithoutCache adds to a context.
type withoutCache struct{}

// WithoutCache returns a context for watches that need no watch cache: of one that doesn't resume
// where it was, and has no use for bookmarks. Others may have made a cache.
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
	if s.cached.Load() == nil && !s.long.Load() && storeLists(opts) {
		err := s.Interface.GetList(ctx, key, opts, out)
		if err == nil && meta.LenList(out) >= longList {
			s.long.Store(true)
		}
		return err
	}
	c, err := s.cache(ctx, 0)
	if err != nil {
		return err
	}
	return c.GetList(ctx, key, opts, out)
}

// storeLists says that the store answers a list as a cache would.
func storeLists(opts storage.ListOptions) bool {
	switch opts.ResourceVersion {
	case "": // the newest, or what a continue token says
		return true
	case "0": // any; a cache would list everything, whatever the limit
		return opts.ResourceVersionMatch != metav1.ResourceVersionMatchExact && opts.Predicate.Limit == 0
	default:
		return false
	}
}

// Delete implements storage.Interface. What the caller has cached may be old; the cache knows.
func (s *lazyCache) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, opts storage.DeleteOptions) error {
	return s.current().Delete(ctx, key, out, preconditions, validate, nil, opts)
}

// GuaranteedUpdate implements storage.Interface.
func (s *lazyCache) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, _ runtime.Object) error {
	return s.current().GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, nil)
}

// ReadinessCheck implements storage.Interface: a cache that nobody needs is never missing.
func (s *lazyCache) ReadinessCheck() error { return s.current().ReadinessCheck() }

// CompactRevision implements storage.Interface.
func (s *lazyCache) CompactRevision() int64 { return s.current().CompactRevision() }

// current is the cache if there is one, else the store.
func (s *lazyCache) current() storage.Interface {
	if c := s.cached.Load(); c != nil {
		return c
	}
	return s.Interface
}

// watchCache is a store behind its watch cache.
type watchCache struct {
	*cacher.CacheDelegator
	cacher   *cacher.Cacher
	end      context.CancelFunc // of what fills it
	progress condition.Variable[cacheProgress]
}

// cacheProgress is how far a watch cache is.
type cacheProgress struct {
	// filled says that requests need no longer wait.
	filled bool
	// seen is a revision that the cache has got to.
	seen int64
	// ended says that the cache is destroyed.
	ended bool
}

func (p cacheProgress) isFilled() bool { return p.filled }

func (c *watchCache) destroy() {
	c.end()
	c.progress.Update(func(p *cacheProgress) { p.ended = true })
	c.Stop()
	c.cacher.Stop()
}

// pastSource is what a watch cache is filled from: the state at an earlier revision, if etcd still
// has it, and then what has happened since.
type pastSource struct {
	storage.Interface
	begin  uint64       // 0 once it has been used
	failed *atomic.Bool // see notingCodec
}

// IsWatchListSemanticsUnSupported tells the cache's reflector to list.
func (s *pastSource) IsWatchListSemanticsUnSupported() bool { return true }

// GetList implements storage.Interface. Only the cache's reflector calls it.
func (s *pastSource) GetList(ctx context.Context, key string, opts storage.ListOptions, out runtime.Object) error {
	begin := s.begin
	s.begin = 0
	if begin != 0 {
		past := opts
		past.ResourceVersion, past.ResourceVersionMatch = strconv.FormatUint(begin, 10), metav1.ResourceVersionMatchExact
		if err := s.Interface.GetList(ctx, key, past, out); err == nil {
			return nil
		}
	}
	return s.Interface.GetList(ctx, key, opts, out)
}

// Watch implements storage.Interface. Only the cache's reflector calls it. After an event that can't be decoded, as while
// a conversion webhook doesn't answer, the reflector would watch from the same revision again, at once and for half a
// minute. It is told to list: the cache then says what fails, and tries once a second.
func (s *pastSource) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if s.failed.Swap(false) {
		return nil, apierrors.NewResourceExpired("an object can't be decoded")
	}
	return s.Interface.Watch(ctx, key, opts)
}

// notingCodec notes that something couldn't be decoded.
type notingCodec struct {
	runtime.Codec
	failed atomic.Bool
}

// Decode implements runtime.Decoder.
func (c *notingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := c.Codec.Decode(data, defaults, into)
	if err != nil {
		c.failed.Store(true)
	}
	return obj, kind, err
}
