// Package informer has informers of objects that the server itself stores. They take etcd's events directly, from a
// Feed of package storage.
//
// [New] makes an informer. Don't use it for objects that another process stores. Don't use it for code that needs
// the objects in the version that clients read: for such code, use client-go's informers with the loopback client.
package informer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/ondemand"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// relistPeriod is the time after which an informer lists again, if objects couldn't be read.
const relistPeriod = time.Second

// Informer is an informer of objects that the server itself stores. It takes events from etcd directly, and runs a
// goroutine only while there are events. An informer of client-go, with the loopback client, would need some thirty
// goroutines: for etcd's watch, the watch cache, handlers, codecs and queues.
//
// An Informer doesn't resync, and ignores error handlers. Most of its methods implement cache.SharedIndexInformer.
type Informer struct {
	resource schema.GroupResource
	feed     func() *storage.Feed // returns nil until the resource's store is made
	indexer  cache.Indexer

	synced *done
	events *storage.FeedWatch // used by the worker alone

	mu        sync.Mutex
	worker    *ondemand.Worker // nil before the start
	transform cache.TransformFunc
	handlers  []*registration
	stopped   bool
}

var _ cache.SharedIndexInformer = &Informer{}

// New returns an informer of a resource. feed returns the resource's feed. It may return nil until the informer
// starts, because the resource's store may be made later than the informer.
func New(resource schema.GroupResource, feed func() *storage.Feed) *Informer {
	return &Informer{
		resource: resource,
		feed:     feed,
		indexer:  cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		synced:   newDone(resource.String()),
	}
}

// Start makes the informer take events from its feed until ctx ends. Start returns at once. After the end of ctx,
// the informer calls ended.
func (i *Informer) Start(ctx context.Context, ended func()) {
	worker := ondemand.New(ctx, i.work, func() {
		i.stop()
		ended()
	})
	i.mu.Lock()
	i.worker = worker
	i.mu.Unlock()
	worker.Notify()
}

// notify makes a started informer handle new events.
func (i *Informer) notify() {
	i.mu.Lock()
	worker := i.worker
	i.mu.Unlock()
	if worker != nil {
		worker.Notify()
	}
}

// work handles the events that are available.
func (i *Informer) work(ctx context.Context) {
	if err := i.follow(ctx); err != nil && ctx.Err() == nil {
		utilruntime.HandleErrorWithContext(ctx, err, "an informer failed to follow the stored objects, and lists them again", "resource", i.resource)
		time.AfterFunc(relistPeriod, i.notify)
	}
}

// stop ends the informer. It can't be started again.
func (i *Informer) stop() {
	if i.events != nil {
		i.events.Stop()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stopped = true
	i.handlers = nil
}

// follow lists the objects if there is no watch. Otherwise it handles the events that are available. After an error,
// such as the end of the watch, the next call of follow lists the objects again.
func (i *Informer) follow(ctx context.Context) (err error) {
	if i.events == nil {
		return i.list(ctx)
	}
	happened, err := i.events.Take(ctx)
	for _, event := range happened {
		if err == nil {
			err = i.handle(event)
		}
	}
	if err != nil {
		i.events.Stop()
		i.events = nil
		return err
	}
	i.welcome()
	return nil
}

func (i *Informer) list(ctx context.Context) error {
	feed := i.feed()
	if feed == nil {
		return fmt.Errorf("the server has no store of %s", i.resource)
	}
	objects, revision, err := feed.List(ctx)
	if err != nil {
		return err
	}
	if err := i.replace(objects, revision); err != nil {
		return err
	}
	if i.events, err = feed.Watch(revision, i.notify); err != nil {
		return err
	}
	i.welcome()
	return nil
}

// replace replaces the informer's objects by the objects of a list. It calls the handlers for each object of the list,
// even an unchanged one, and for each object that the list lacks.
func (i *Informer) replace(objects []runtime.Object, revision int64) error {
	gone := map[string]bool{}
	for _, key := range i.indexer.ListKeys() {
		gone[key] = true
	}
	for _, object := range objects {
		key, err := cache.MetaNamespaceKeyFunc(object)
		if err != nil {
			return err
		}
		delete(gone, key)
		if err := i.handle(watch.Event{Type: watch.Modified, Object: object}); err != nil {
			return err
		}
	}
	for key := range gone {
		old, _, err := i.indexer.GetByKey(key)
		if err != nil {
			return err
		}
		if err := i.indexer.Delete(cache.DeletedFinalStateUnknown{Key: key, Obj: old}); err != nil {
			return err
		}
		for _, h := range i.joined() {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: old})
		}
	}
	i.indexer.Bookmark(strconv.FormatInt(revision, 10))
	i.synced.close()
	return nil
}

// handle applies an event to the informer's objects, and calls the handlers.
func (i *Informer) handle(event watch.Event) error {
	i.mu.Lock()
	transform := i.transform
	i.mu.Unlock()
	var object any = event.Object
	if transform != nil {
		var err error
		if object, err = transform(object); err != nil {
			return fmt.Errorf("transforming an object of %s: %w", i.resource, err)
		}
	}
	old, exists, err := i.indexer.Get(object)
	if err != nil {
		return err
	}
	if event.Type == watch.Deleted {
		if err := i.indexer.Delete(object); err != nil {
			return err
		}
		for _, h := range i.joined() {
			h.OnDelete(object)
		}
		return nil
	}
	if err := i.indexer.Update(object); err != nil {
		return err
	}
	for _, h := range i.joined() {
		if exists {
			h.OnUpdate(old, object)
		} else {
			h.OnAdd(object, false)
		}
	}
	return nil
}

// joined returns the handlers that welcome has called with the existing objects. Only these handlers get events.
func (i *Informer) joined() []*registration {
	i.mu.Lock()
	defer i.mu.Unlock()
	var handlers []*registration
	for _, h := range i.handlers {
		if h.joined {
			handlers = append(handlers, h)
		}
	}
	return handlers
}

// welcome calls each new handler with the existing objects.
func (i *Informer) welcome() {
	i.mu.Lock()
	var joining []*registration
	for _, h := range i.handlers {
		if !h.joined {
			h.joined = true
			joining = append(joining, h)
		}
	}
	i.mu.Unlock()
	for _, h := range joining {
		for _, object := range i.indexer.List() {
			h.OnAdd(object, true)
		}
		h.synced.close()
	}
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (i *Informer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	defer i.notify()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		return nil, fmt.Errorf("the informer of %s has stopped", i.resource)
	}
	h := &registration{ResourceEventHandler: handler, synced: newDone(i.resource.String() + " handler")}
	i.handlers = append(i.handlers, h)
	return h, nil
}

// AddEventHandler implements cache.SharedInformer.
func (i *Informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i *Informer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// RemoveEventHandler implements cache.SharedInformer.
func (i *Informer) RemoveEventHandler(handler cache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = slices.DeleteFunc(slices.Clone(i.handlers), func(h *registration) bool { return h == handler })
	return nil
}

// AddIndexers implements cache.SharedIndexInformer.
func (i *Informer) AddIndexers(indexers cache.Indexers) error {
	return i.indexer.AddIndexers(indexers)
}

// GetIndexer implements cache.SharedIndexInformer.
func (i *Informer) GetIndexer() cache.Indexer { return i.indexer }

// GetStore implements cache.SharedInformer.
func (i *Informer) GetStore() cache.Store { return i.indexer }

// GetController implements cache.SharedInformer.
func (i *Informer) GetController() cache.Controller { return i }

// RunWithContext implements cache.SharedInformer.
func (i *Informer) RunWithContext(ctx context.Context) {
	ended := make(chan struct{})
	i.Start(ctx, func() { close(ended) })
	<-ended
}

// Run implements cache.SharedInformer.
func (i *Informer) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }

// HasSynced implements cache.SharedInformer.
func (i *Informer) HasSynced() bool { return i.synced.HasSynced() }

// HasSyncedChecker implements cache.SharedInformer.
func (i *Informer) HasSyncedChecker() cache.DoneChecker { return i.synced }

// LastSyncResourceVersion implements cache.SharedInformer.
func (i *Informer) LastSyncResourceVersion() string {
	return i.indexer.LastStoreSyncResourceVersion()
}

// SetWatchErrorHandler implements cache.SharedInformer.
func (i *Informer) SetWatchErrorHandler(cache.WatchErrorHandler) error { return i.unstarted() }

// SetWatchErrorHandlerWithContext implements cache.SharedInformer.
func (i *Informer) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return i.unstarted()
}

// SetTransform implements cache.SharedInformer.
func (i *Informer) SetTransform(transform cache.TransformFunc) error {
	if err := i.unstarted(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.transform = transform
	return nil
}

func (i *Informer) unstarted() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.worker != nil {
		return fmt.Errorf("the informer of %s has already started", i.resource)
	}
	return nil
}

// IsStopped implements cache.SharedInformer.
func (i *Informer) IsStopped() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped
}
