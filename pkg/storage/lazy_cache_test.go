package storage

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// lazy returns the lazyCache of the store.
func (s configMaps) lazy(t testing.TB) *lazyCache {
	t.Helper()
	l, ok := s.Interface.(*lazyCache)
	if !ok {
		t.Fatalf("the store is a %T", s.Interface)
	}
	return l
}

// openCache makes the watch cache, as the first request that needs a cache does.
func (s configMaps) openCache(t testing.TB) {
	t.Helper()
	if _, err := s.lazy(t).cache(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func (s configMaps) watch(t testing.TB, resourceVersion string) watch.Interface {
	t.Helper()
	w, err := s.Watch(t.Context(), prefix, storage.ListOptions{ResourceVersion: resourceVersion, Recursive: true, Predicate: storage.Everything})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

func TestCacheIsMadeWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	for _, c := range []struct {
		name, reason string
		use          func(t *testing.T, s configMaps, rv string)
		want         bool
	}{
		{"nothing", "a server has some eighty resources", func(*testing.T, configMaps, string) {}, false},
		{"write", "a write needs no cache", func(t *testing.T, s configMaps, _ string) { s.create(t, "b"); s.remove(t, "b") }, false},
		{"read of the newest", "etcd has the newest object", func(t *testing.T, s configMaps, _ string) { s.get(t, "a", "") }, false},
		{"read of any", "the newest version is a valid answer", func(t *testing.T, s configMaps, _ string) { s.get(t, "a", "0") }, false},
		{"short list", "the store answers a short list, for example of a collection to delete",
			func(t *testing.T, s configMaps, _ string) { s.list(t, "", "") }, false},
		{"list of any version", "the newest version is a valid answer",
			func(t *testing.T, s configMaps, _ string) { s.list(t, "0", "") }, false},
		{"read not older than", "a cache waits for the version", func(t *testing.T, s configMaps, rv string) { s.get(t, "a", rv) }, true},
		{"list not older than", "a cache waits for the version", func(t *testing.T, s configMaps, rv string) {
			s.list(t, rv, metav1.ResourceVersionMatchNotOlderThan)
		}, true},
		{"watch", "a watch needs a cache", func(t *testing.T, s configMaps, rv string) { s.watch(t, rv) }, true},
		{"watch without", "a watch of the server itself can do without a cache", func(t *testing.T, s configMaps, rv string) {
			ctx, cancel := context.WithCancel(WithoutCache(t.Context()))
			defer cancel()
			w, err := s.Watch(ctx, prefix, storage.ListOptions{ResourceVersion: rv, Recursive: true, Predicate: storage.Everything})
			if err != nil {
				t.Fatal(err)
			}
			s.create(t, "b")
			if e := next(t, w); e.Type != watch.Added {
				t.Errorf("%v", e)
			}
			s.remove(t, "b")
		}, false},
		{"a long list", "a watch needs the objects afterwards", func(t *testing.T, s configMaps, _ string) {
			s.createMany(t)
			s.list(t, "", "")
		}, true},
		{"a long list of a part", "a cache would decode all objects", func(t *testing.T, s configMaps, _ string) {
			for i := range longList {
				name := fmt.Sprint("part/many-", i)
				s.create(t, name)
				defer s.remove(t, name)
			}
			if err := s.GetList(t.Context(), key("part"), storage.ListOptions{Recursive: true, Predicate: storage.Everything}, &v1.ConfigMapList{}); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a long page", "kubectl lists in pages, and doesn't watch", func(t *testing.T, s configMaps, _ string) {
			s.createMany(t)
			s.page(t, limited(longList))
		}, false},
		{"a list after a long page", "decoding a long list takes longer than beginning a cache", func(t *testing.T, s configMaps, _ string) {
			s.createMany(t)
			s.page(t, limited(longList))
			s.page(t, limited(1))
		}, true},
		{"a list after one that selects nothing of much", "the store decodes all objects for a selector", func(t *testing.T, s configMaps, _ string) {
			s.createMany(t)
			s.page(t, storage.SelectionPredicate{Label: labels.SelectorFromSet(labels.Set{"a": "b"}), Field: fields.Everything(), Limit: 1})
			s.list(t, "", "")
		}, true},
		{"a list of few large objects", "the time for decoding depends on the size", func(t *testing.T, s configMaps, _ string) {
			large := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large", Namespace: "n"}, Data: map[string]string{"a": strings.Repeat("a", longListBytes)}}
			if err := s.Create(t.Context(), key("large"), large, &v1.ConfigMap{}, 0); err != nil {
				t.Fatal(err)
			}
			defer s.remove(t, "large")
			s.list(t, "", "")
		}, true},
		{"short pages", "the store reads no more than the page", func(t *testing.T, s configMaps, _ string) {
			s.createMany(t)
			s.page(t, limited(1))
			s.page(t, limited(1))
		}, false},
		{"all pages of a long list", "together, the pages take as long from the store as a new cache", func(t *testing.T, s configMaps, _ string) {
			s.createMany(t)
			first := s.page(t, limited(longList))
			if first.Continue == "" {
				t.Error("the list has a single page")
			}
			next := limited(longList)
			next.Continue = first.Continue
			s.page(t, next)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newConfigMaps(t, m, cached)
			defer s.destroy()
			old := s.create(t, "a")
			defer s.remove(t, "a")
			c.use(t, s, old.ResourceVersion)
			if got := s.lazy(t).cached.Load() != nil; got != c.want {
				t.Errorf("there is a cache: %t, want %t: %s", got, c.want, c.reason)
			}
			if err := s.ReadinessCheck(); err != nil {
				t.Errorf("not ready: %v", err)
			}
		})
	}
}

// createMany creates as many objects as a long list has. They are removed at the end of the test.
func (s configMaps) createMany(t *testing.T) {
	t.Helper()
	for i := range longList {
		name := fmt.Sprint("many-", i)
		s.create(t, name)
		t.Cleanup(func() {
			if err := s.lazy(t).Interface.Delete(context.WithoutCancel(t.Context()), key(name), &v1.ConfigMap{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func limited(n int64) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), Limit: n}
}

// page lists the objects that the predicate selects.
func (s configMaps) page(t testing.TB, p storage.SelectionPredicate) *v1.ConfigMapList {
	t.Helper()
	p.GetAttrs = storage.DefaultNamespaceScopedAttr
	out := &v1.ConfigMapList{}
	if err := s.GetList(t.Context(), prefix, storage.ListOptions{Recursive: true, Predicate: p}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Long lists at the same time share the objects of the cache.
func TestLongListsAtOnceShareTheirObjects(t *testing.T) {
	t.Parallel()
	const lists, objects = 10, 2 * longList
	m := startMember(t, Options{})
	s := newConfigMaps(t, m, cached)
	defer s.destroy()
	for i := range objects {
		s.create(t, fmt.Sprint("many-", i))
	}
	lazy := s.lazy(t)
	decoded := lazy.codec.decoded.Load()
	var group errgroup.Group
	for range lists {
		group.Go(func() error {
			out := &v1.ConfigMapList{}
			err := s.GetList(t.Context(), prefix, storage.ListOptions{Recursive: true, Predicate: storage.Everything}, out)
			if err == nil && len(out.Items) != objects {
				return fmt.Errorf("a list has %d of %d objects", len(out.Items), objects)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := lazy.codec.decoded.Load() - decoded; n > 2*objects {
		t.Errorf("%d lists of %d objects have decoded %d objects", lists, objects, n)
	}
}

func (s configMaps) get(t testing.TB, name, rv string) {
	t.Helper()
	if err := s.Get(t.Context(), key(name), storage.GetOptions{ResourceVersion: rv}, &v1.ConfigMap{}); err != nil {
		t.Error(err)
	}
}

// If many requests need the cache at the same time, all wait for the same cache. A cache of k8s.io/apiserver that
// isn't filled would reject them.
func TestFirstUsesAtOnce(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	for range 20 {
		s := newConfigMaps(t, m, cached)
		old := s.create(t, "old")
		var group errgroup.Group
		for i := range 20 {
			group.Go(func() error {
				if i%2 == 0 {
					w, err := s.Watch(t.Context(), prefix, storage.ListOptions{ResourceVersion: old.ResourceVersion, Recursive: true, Predicate: storage.Everything})
					if err == nil {
						w.Stop()
					}
					return err
				}
				return s.GetList(t.Context(), prefix, storage.ListOptions{
					ResourceVersion: old.ResourceVersion, Recursive: true, Predicate: storage.Everything,
				}, &v1.ConfigMapList{})
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		s.remove(t, "old")
		s.destroy()
	}
}

// A client that has listed can watch from the revision of its list, even if the cache is made after the list.
func TestFirstWatchMissesNothing(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	for _, c := range []struct {
		name, reason string
		between      func(t *testing.T, s configMaps)
	}{
		{"at once", "the watch makes the cache", func(*testing.T, configMaps) {}},
		{"after a later watch", "the later watch has made the cache", func(t *testing.T, s configMaps) { s.watch(t, "") }},
		{"after much else", "the hub has dropped the events, so the cache begins with the revision of the watch", func(t *testing.T, _ configMaps) {
			for range 2 * maxLogEvents {
				put(t, m, "/other", "1")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newConfigMaps(t, m, cached)
			defer s.destroy()
			s.create(t, "old")
			listed := s.list(t, "", "")
			s.create(t, "new")
			s.remove(t, "old")
			c.between(t, s)
			w := s.watch(t, listed.ResourceVersion)
			for _, want := range []watch.Event{{Type: watch.Added, Object: &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}, {Type: watch.Deleted, Object: &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "old"}}}} {
				e := next(t, w)
				if o, ok := e.Object.(*v1.ConfigMap); !ok || e.Type != want.Type || o.Name != want.Object.(*v1.ConfigMap).Name {
					t.Errorf("%s %v, want %s %v: %s", e.Type, e.Object, want.Type, want.Object, c.reason)
				}
			}
			s.remove(t, "new")
		})
	}
}

func nameOf(t testing.TB, e watch.Event) string {
	t.Helper()
	object, err := meta.Accessor(e.Object)
	if err != nil {
		t.Fatalf("%s %v: %v", e.Type, e.Object, err)
	}
	return object.GetName()
}

// A cache that begins with an old revision has all objects before its first use. Filling the cache needs neither a
// progress request nor a watch that etcd serves only every 100 ms.
func TestFirstReadIsFresh(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	withoutProgress(m)
	for i := range 20 {
		s := newConfigMaps(t, m, cached)
		name := fmt.Sprint("new-", i)
		s.create(t, name)
		w := s.watch(t, "0")
		for nameOf(t, next(t, w)) != name {
			continue
		}
		if n := len(s.list(t, "0", "").Items); n != i+1 {
			t.Errorf("a list of the cache has %d of %d objects", n, i+1)
		}
		s.destroy()
	}
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	if m.hub.innerUsed {
		t.Error("a cache has begun with a watch of etcd's own")
	}
}

func TestStoreIsDestroyedBeforeItsCache(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	s := newConfigMaps(t, m, cached)
	s.destroy()
	if _, err := s.Watch(t.Context(), prefix, storage.ListOptions{Predicate: storage.Everything}); !apierrors.IsTooManyRequests(err) {
		t.Errorf("watch of a destroyed store: %v, want that the client comes again", err)
	}
	if s.lazy(t).cached.Load() != nil {
		t.Error("a destroyed store has got a cache")
	}
}

func TestDestroyEndsWatches(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	s := newConfigMaps(t, m, cached)
	w := s.watch(t, "")
	s.destroy()
	s.destroy() // k8s.io/apiserver destroys a store several times
	select {
	case _, open := <-w.ResultChan():
		if open {
			t.Error("an event of a destroyed store")
		}
	case <-time.After(time.Minute):
		t.Error("the watch goes on")
	}
}
