package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

const prefix = "/configmaps"

var (
	cached = registry.StorageWithCacher()
	direct = generic.StorageDecorator(generic.UndecoratedStorage)
)

// configMaps is a store of ConfigMaps. The keys are the names.
type configMaps struct {
	storage.Interface
	destroy func()
}

// newConfigMaps makes a store in the same way as k8s.io/apiserver. d is the decorator of the RESTOptions, which
// determines whether the store has a watch cache.
func newConfigMaps(t testing.TB, m *Member, d generic.StorageDecorator) configMaps {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	codec := codecs.CodecForVersions(info.Serializer, info.Serializer, v1.SchemeGroupVersion, v1.SchemeGroupVersion)
	resource := schema.GroupResource{Resource: "configmaps"}
	config := storagebackend.NewDefaultConfig("/registry", codec)
	config.Transport.ServerList = []string{"http://127.0.0.1:1"} // the test fails if a store dials this server

	options, err := m.RESTOptionsGetter(generic.RESTOptions{
		StorageConfig:  config.ForResource(resource),
		Decorator:      d,
		ResourcePrefix: prefix,
	}).GetRESTOptions(resource, &v1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	s, destroy, err := options.Decorator(options.StorageConfig, prefix,
		func(o runtime.Object) (string, error) { return key(o.(*v1.ConfigMap).Name), nil },
		func() runtime.Object { return &v1.ConfigMap{} },
		func() runtime.Object { return &v1.ConfigMapList{} },
		storage.DefaultNamespaceScopedAttr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ReadinessCheck(); err != nil {
		t.Fatal(err)
	}
	return configMaps{s, destroy}
}

func key(name string) string { return path.Join(prefix, name) }

func (s configMaps) create(t testing.TB, name string) *v1.ConfigMap {
	t.Helper()
	in := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n"}}
	out := &v1.ConfigMap{}
	if err := s.Create(t.Context(), key(name), in, out, 0); err != nil {
		t.Fatal(err)
	}
	return out
}

func (s configMaps) list(t testing.TB, rv string, match metav1.ResourceVersionMatch) *v1.ConfigMapList {
	t.Helper()
	out := &v1.ConfigMapList{}
	if err := s.GetList(t.Context(), prefix, storage.ListOptions{
		ResourceVersion: rv, ResourceVersionMatch: match, Recursive: true, Predicate: storage.Everything,
	}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// next returns the next event of a watch.
func next(t testing.TB, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-time.After(time.Minute):
		t.Fatal("no event came")
	}
	return watch.Event{}
}

func TestDecoratorFollowsTheInnerOptions(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	for _, c := range []struct {
		name, reason string
		inner        generic.StorageDecorator
		cached       bool
	}{
		{"watch cache", "the default of EtcdOptions", registry.StorageWithCacher(), true},
		{"no watch cache", "--watch-cache=false or size 0", generic.UndecoratedStorage, false},
		{"nothing", "options made without a decorator", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newConfigMaps(t, m, c.inner)
			defer s.destroy()
			if got := fmt.Sprintf("%T", s.Interface) == "*storage.lazyCache"; got != c.cached {
				t.Errorf("%T, want cached %t: %s", s.Interface, c.cached, c.reason)
			}
		})
	}
}

// If a resource has no events, its watch cache gets a newer revision only by a progress notification. The
// notification must reach the watch of the cache. Otherwise each read of the test fails with "Too large resource
// version".
func TestReadsFromTheWatchCacheAreFresh(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	s := newConfigMaps(t, m, cached)
	s.create(t, "a")
	s.openCache(t)
	for _, c := range []struct {
		name, reason string
		list         func(t *testing.T, rv string)
	}{
		{"not older than a write of another resource", "the write isn't among the events of the cache", func(t *testing.T, rv string) {
			s.list(t, rv, metav1.ResourceVersionMatchNotOlderThan)
		}},
		{"consistent", "the cache reads the revision of etcd, and waits for this revision", func(t *testing.T, rv string) {
			got := s.list(t, "", "").ResourceVersion
			if order, err := resourceversion.CompareResourceVersion(got, rv); err != nil || order < 0 {
				t.Errorf("list of revision %s after a write of revision %s (error %v)", got, rv, err)
			}
		}},
		{"single object", "a get waits in the same way", func(t *testing.T, rv string) {
			if err := s.Get(t.Context(), key("a"), storage.GetOptions{ResourceVersion: rv}, &v1.ConfigMap{}); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			other, err := m.client.KV.Put(t.Context(), "/other/"+c.name, "1")
			if err != nil {
				t.Fatal(err)
			}
			c.list(t, fmt.Sprint(other.Header.Revision))
		})
	}
}

// withoutProgress disables the progress requests of k8s.io/apiserver, which it sends every 100 ms while a read
// waits for a watch cache.
func withoutProgress(m *Member) { m.client.Watcher = progressless{m.client.Watcher} }

type progressless struct{ clientv3.Watcher }

func (progressless) RequestProgress(context.Context) error { return nil }

// When a consistent read gets etcd's revision, the watch cache gets the same revision without a progress request.
// The test makes the two steps of such a read itself, because k8s.io/apiserver's own reads send progress requests.
func TestConsistentReadsNeedNoRequestForProgress(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	withoutProgress(m)
	s := newConfigMaps(t, m, cached)
	s.openCache(t)
	for range 50 {
		put(t, m, "/other", "1")
		revision, err := s.lazy(t).source.GetCurrentResourceVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.list(t, fmt.Sprint(revision), metav1.ResourceVersionMatchNotOlderThan)
	}
}

func TestListSeesTheWriteBefore(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	writer, reader := newConfigMaps(t, m, direct), newConfigMaps(t, m, cached)
	for i := range 20 {
		written := writer.create(t, fmt.Sprint("c", i))
		if n := len(reader.list(t, "", "").Items); n != i+1 {
			t.Fatalf("consistent list has %d of %d objects", n, i+1)
		}
		if n := len(reader.list(t, written.ResourceVersion, metav1.ResourceVersionMatchNotOlderThan).Items); n != i+1 {
			t.Fatalf("list not older than the write has %d of %d objects", n, i+1)
		}
	}
	if n := len(writer.list(t, "", "").Items); n != 20 {
		t.Errorf("list without the cache, in chunks, has %d objects", n)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	for _, c := range []struct {
		name, reason string
		decorator    generic.StorageDecorator
	}{
		{"cached", "served by the watch cache", cached},
		{"direct", "served by etcd's watch", direct},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newConfigMaps(t, m, c.decorator)
			defer s.destroy()
			old := s.create(t, c.name)
			t.Cleanup(func() { s.remove(t, c.name) })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, err := s.Watch(ctx, prefix, storage.ListOptions{ResourceVersion: old.ResourceVersion, Recursive: true, Predicate: storage.Everything})
			if err != nil {
				t.Fatal(err)
			}
			s.create(t, "new")
			s.remove(t, "new")
			for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
				e := next(t, w)
				if o, err := meta.Accessor(e.Object); err != nil || e.Type != want || o.GetName() != "new" {
					t.Errorf("%s %v, want %s of the object that came after the resource version: %s", e.Type, e.Object, want, c.reason)
				}
			}
		})
	}
}

func (s configMaps) remove(t testing.TB, name string) {
	t.Helper()
	err := s.Delete(context.Background(), key(name), &v1.ConfigMap{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	if err != nil {
		t.Error(err)
	}
}

func TestWatchListEndsWithABookmark(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	s := newConfigMaps(t, m, cached)
	s.create(t, "a")
	put(t, m, "/other", "1") // the bookmark must have at least this revision
	yes := true
	predicate := storage.Everything
	predicate.AllowWatchBookmarks = true
	w, err := s.Watch(t.Context(), prefix, storage.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Recursive: true, Predicate: predicate,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := next(t, w); e.Type != watch.Added {
		t.Errorf("%s, want the initial object first", e.Type)
	}
	e := next(t, w)
	o, err := meta.Accessor(e.Object)
	if err != nil || e.Type != watch.Bookmark || o.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("%s %v, want the bookmark that ends the initial events", e.Type, e.Object)
	}
}

func TestStoreAfterStop(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	stopMember(t, m)
	options, err := m.RESTOptionsGetter(generic.RESTOptions{Decorator: cached}).GetRESTOptions(schema.GroupResource{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	config := storagebackend.NewDefaultConfig("/registry", nil).ForResource(schema.GroupResource{Resource: "configmaps"})
	if _, _, err := options.Decorator(config, prefix, nil, nil, nil, nil, nil, nil); !errors.Is(err, errStopped) {
		t.Errorf("error %v, want %v", err, errStopped)
	}
}
