package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericstorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// stored is a store of ConfigMaps, with an informer that runs until the test ends.
type stored struct {
	genericstorage.Interface
	informer cache.SharedIndexInformer
	stop     func()
}

func newStored(t *testing.T) *stored {
	t.Helper()
	member, err := storage.Start(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := member.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	resource := schema.GroupResource{Resource: "configmaps"}
	config := storagebackend.NewDefaultConfig("/registry", scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion)).ForResource(resource)
	options, err := member.RESTOptionsGetter(generic.RESTOptions{StorageConfig: config, ResourcePrefix: "/configmaps"}).GetRESTOptions(resource, &corev1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	store, destroy, err := options.Decorator(config, "/configmaps", nil,
		func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} },
		genericstorage.DefaultNamespaceScopedAttr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	s := &stored{Interface: store, informer: New(resource, func() *storage.Feed { return member.Feed(resource) })}
	return s
}

// run runs the informer until the test ends, and returns when the informer is synced.
func (s *stored) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.informer.RunWithContext(ctx) })
	s.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(s.stop)
	if !cache.WaitFor(t.Context(), "", s.informer.HasSyncedChecker()) {
		t.Fatal("the informer doesn't sync")
	}
}

func (s *stored) create(t *testing.T, name string) {
	t.Helper()
	in := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	if err := s.Create(t.Context(), "/configmaps/n/"+name, in, &corev1.ConfigMap{}, 0); err != nil {
		t.Fatal(err)
	}
}

// told collects the calls of an event handler.
type told chan string

func (c told) OnAdd(obj any, initial bool) {
	c <- fmt.Sprint("add ", obj.(*corev1.ConfigMap).Name, " initial=", initial)
}
func (c told) OnUpdate(old, obj any) {
	c <- fmt.Sprint("update ", obj.(*corev1.ConfigMap).Name, " ", old.(*corev1.ConfigMap).Data["k"], "->", obj.(*corev1.ConfigMap).Data["k"])
}
func (c told) OnDelete(obj any) {
	m := obj.(*corev1.ConfigMap)
	c <- fmt.Sprint("delete ", m.Name, " ", m.Data["k"])
}

func (c told) want(t *testing.T, events ...string) {
	t.Helper()
	for _, want := range events {
		select {
		case got := <-c:
			if got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("not told %q", want)
		}
	}
}

func TestInformer(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	early := make(told, 10)
	registered, err := s.informer.AddEventHandler(early)
	if err != nil {
		t.Fatal(err)
	}
	s.create(t, "a")
	s.run(t)
	early.want(t, "add a initial=true")
	if !cache.WaitFor(t.Context(), "", registered.HasSyncedChecker()) {
		t.Error("the handler isn't synced")
	}

	update := func(input runtime.Object, _ genericstorage.ResponseMeta) (runtime.Object, *uint64, error) {
		m := input.(*corev1.ConfigMap)
		m.Data = map[string]string{"k": "v"}
		return m, nil, nil
	}
	if err := s.GuaranteedUpdate(t.Context(), "/configmaps/n/a", &corev1.ConfigMap{}, false, nil, update, nil); err != nil {
		t.Fatal(err)
	}
	s.create(t, "b")
	early.want(t, "update a ->v", "add b initial=false")

	late := make(told, 10)
	if _, err := s.informer.AddEventHandler(late); err != nil {
		t.Fatal(err)
	}
	added := []string{<-late, <-late}
	slices.Sort(added)
	if want := []string{"add a initial=true", "add b initial=true"}; !slices.Equal(added, want) {
		t.Errorf("a late handler is told %q, want %q", added, want)
	}
	if err := s.informer.RemoveEventHandler(registered); err != nil {
		t.Fatal(err)
	}

	deleted := &corev1.ConfigMap{}
	if err := s.Delete(t.Context(), "/configmaps/n/a", deleted, nil, genericstorage.ValidateAllObjectFunc, nil, genericstorage.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	late.want(t, "delete a v")
	if len(early) > 0 {
		t.Errorf("a removed handler was told %q", <-early)
	}
	lister := corelisters.NewConfigMapLister(s.informer.GetIndexer())
	left, err := lister.ConfigMaps("n").List(labels.Everything())
	if err != nil || len(left) != 1 || left[0].Name != "b" || left[0].ResourceVersion == "" {
		t.Errorf("the lister has %v, error %v", left, err)
	}
	if err := s.informer.SetTransform(nil); err == nil {
		t.Error("a transformation was set while the informer runs")
	}

	s.stop()
	if !s.informer.IsStopped() {
		t.Error("it hasn't stopped")
	}
	if _, err := s.informer.AddEventHandler(early); err == nil {
		t.Error("a handler was added after the end")
	}
}

// blocked is an event handler whose calls last until the test ends them.
func blocked(t *testing.T) (handler cache.ResourceEventHandler, called <-chan struct{}, end func()) {
	t.Helper()
	calls, ended := make(chan struct{}, 10), make(chan struct{})
	end = sync.OnceFunc(func() { close(ended) })
	t.Cleanup(end)
	return cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		calls <- struct{}{}
		<-ended
	}}, calls, end
}

// A slow handler delays no other handler. Await returns when each handler has been called with an event of the revision.
func TestAwait(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.run(t)
	slow, called, end := blocked(t)
	registered, err := s.informer.AddEventHandler(slow)
	if err != nil {
		t.Fatal(err)
	}
	fast := make(told, 10)
	other, err := s.informer.AddEventHandler(fast)
	if err != nil {
		t.Fatal(err)
	}
	if !cache.WaitFor(t.Context(), "", registered.HasSyncedChecker(), other.HasSyncedChecker()) {
		t.Fatal("the handlers don't sync")
	}
	own := s.informer.(*Informer)
	revision := func() int64 {
		written := &corev1.ConfigMap{}
		if err := s.Get(t.Context(), "/configmaps/n/a", genericstorage.GetOptions{}, written); err != nil {
			t.Fatal(err)
		}
		return int64(versionOf(written))
	}
	s.create(t, "a")
	<-called
	fast.want(t, "add a initial=false")

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := own.Await(gone, revision()); err == nil {
		t.Error("the wait ends while a handler is being called")
	}
	awaited := make(chan error, 1)
	go func() { awaited <- own.Await(t.Context(), revision()) }()
	end()
	if err := <-awaited; err != nil {
		t.Error(err)
	}

	later, called, _ := blocked(t)
	if err := s.informer.RemoveEventHandler(registered); err != nil {
		t.Fatal(err)
	}
	if registered, err = s.informer.AddEventHandler(later); err != nil {
		t.Fatal(err)
	}
	<-called // the initial call
	if err := own.Await(t.Context(), revision()); err != nil {
		t.Errorf("a write from before a handler was added waits for the handler: %v", err)
	}
	if err := own.Await(gone, revision()+1); err == nil {
		t.Error("the wait ends before the store has the revision")
	}
	if err := s.informer.RemoveEventHandler(registered); err != nil {
		t.Fatal(err)
	}
}

// The informer that Empty returns syncs, and has no objects.
func TestEmpty(t *testing.T) {
	t.Parallel()
	informer := Empty(&corev1.ConfigMap{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()) || len(informer.GetStore().List()) > 0 {
		t.Error("the informer doesn't sync, or has objects")
	}
}
