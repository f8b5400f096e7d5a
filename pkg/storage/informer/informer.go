// Package informer makes the state of a server's informers part of a write: a write is in force when each handler of
// each informer of its resource has been called with it, and only then does the server answer.
//
// [Barrier] makes a write wait for informers. [Factory] makes informers that a Barrier observes. [New] makes an informer
// of objects that the server itself stores, which takes etcd's events directly from a Feed of package storage, and knows
// its own progress. Don't use New for objects that another process stores, or for code that needs the objects in the
// version that clients read: for both, use client-go's informers with the loopback client, which a Barrier observes
// too.
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

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/ondemand"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// relistPeriod is the time after which an informer lists again, if objects couldn't be read.
const relistPeriod = time.Second

// Informer is an informer of objects that the server itself stores. It takes events from etcd directly, and runs a
// goroutine only while there are events. An informer of client-go, with the loopback client, would need some thirty
// goroutines: for etcd's watch, the watch cache, handlers, codecs and queues.
//
// Each handler has a queue of its own, so a slow handler delays no other. An Informer doesn't resync, and ignores error
// handlers. Most of its methods implement cache.SharedIndexInformer.
type Informer struct {
	resource schema.GroupResource
	feed     func() *storage.Feed // returns nil until the resource's store is made
	indexer  cache.Indexer

	synced *done
	events *storage.FeedWatch // used by the worker alone
	shared sharing            // used by the worker alone; nil unless Sharing was called

	mu        sync.Mutex
	ctx       context.Context  // ends the informer; nil before the start
	worker    *ondemand.Worker // nil before the start
	transform cache.TransformFunc

	progress condition.Variable[progress]
}

// progress is the progress of an informer.
type progress struct {
	// revision is the etcd revision that the store of the informer has reached.
	revision int64
	handlers []*registration
	started  bool
	stopped  bool
}

// at reports whether the store has reached an etcd revision, and each handler has been called with all events up to it.
// It is true for an informer that hasn't started, whose first list will have that state, and for one that has stopped.
func (p progress) at(revision int64) bool {
	return !p.started || p.stopped || p.revision >= revision && !slices.ContainsFunc(p.handlers, func(h *registration) bool { return h.revision < revision })
}

// String returns the etcd revisions of the store and of the handlers.
func (p progress) String() string {
	text := fmt.Sprintf("the store has revision %d", p.revision)
	for _, h := range p.handlers {
		text += fmt.Sprintf(", a handler %d", h.revision)
	}
	return text
}

var _ cache.SharedIndexInformer = &Informer{}

// New returns an informer of a resource. feed returns the resource's feed. It may return nil until the informer
// starts, because the resource's store may be made later than the informer.
func New(resource schema.GroupResource, feed func() *storage.Feed) *Informer {
	return &Informer{
		resource: resource,
		feed:     feed,
		indexer: cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		synced: newDone(resource.String()),
	}
}

// Sharing makes objects of the same controller share their equal parts, such as the containers of the pods of a ReplicaSet,
// and be without their managedFields, as those in the informers of kube-controller-manager are.
// Call Sharing before the start, and only if nobody else has the objects that the feed gives.
func (i *Informer) Sharing() *Informer {
	i.shared = sharing{}
	return i
}

// Await returns when the store has the state at an etcd revision, and each handler has been called with all events up to
// it. It returns at once if the informer hasn't started or has stopped, and an error when ctx ends.
func (i *Informer) Await(ctx context.Context, revision int64) error {
	return i.progress.Wait(ctx, func(p progress) bool { return p.at(revision) })
}

func (i *Informer) await(ctx context.Context, w write) error { return i.Await(ctx, int64(w.version)) }

func (i *Informer) observed(w write) (observed bool) {
	i.progress.Read(func(p progress) { observed = p.at(int64(w.version)) })
	return observed
}

func (i *Informer) checkers() []cache.DoneChecker {
	checkers := []cache.DoneChecker{i.synced}
	i.progress.Read(func(p progress) {
		for _, h := range p.handlers {
			checkers = append(checkers, h.synced)
		}
	})
	return checkers
}

// Start makes the informer take events from its feed until ctx ends. Start returns at once. After the end of ctx, and
// of the handlers' last calls, the informer calls ended.
func (i *Informer) Start(ctx context.Context, ended func()) {
	worker := ondemand.New(ctx, i.work, func() {
		i.stop()
		ended()
	})
	i.mu.Lock()
	i.ctx, i.worker = ctx, worker
	i.mu.Unlock()
	i.progress.Update(func(p *progress) { p.started = true })
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
	var handlers []*registration
	i.progress.Update(func(p *progress) {
		handlers = p.handlers
		p.stopped, p.handlers = true, nil
	})
	for _, h := range handlers {
		h.end()
	}
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
	var all []notification
	for _, object := range objects {
		key, err := cache.MetaNamespaceKeyFunc(object)
		if err != nil {
			return err
		}
		delete(gone, key)
		n, err := i.apply(watch.Event{Type: watch.Modified, Object: object})
		if err != nil {
			return err
		}
		all = append(all, n)
	}
	for key := range gone {
		old, _, err := i.indexer.GetByKey(key)
		if err != nil {
			return err
		}
		lost := cache.DeletedFinalStateUnknown{Key: key, Obj: old}
		if err := i.indexer.Delete(lost); err != nil {
			return err
		}
		all = append(all, func(h cache.ResourceEventHandler) { h.OnDelete(lost) })
	}
	i.indexer.Bookmark(strconv.FormatInt(revision, 10))
	i.reach(revision, all...)
	i.synced.close()
	return nil
}

// handle applies an event to the informer's objects, and lets the handlers be called.
func (i *Informer) handle(event watch.Event) error {
	n, err := i.apply(event)
	if err == nil {
		i.reach(int64(versionOf(event.Object)), n)
	}
	return err
}

// reach queues the notifications of a revision for all handlers that have joined.
func (i *Informer) reach(revision int64, notifications ...notification) {
	i.progress.Update(func(p *progress) {
		p.revision = max(p.revision, revision)
		for _, h := range p.handlers {
			if h.joined {
				h.queue(p.revision, notifications...)
			}
		}
	})
}

// apply applies an event to the informer's objects, and returns the notification of the handlers.
func (i *Informer) apply(event watch.Event) (notification, error) {
	i.mu.Lock()
	transform := i.transform
	i.mu.Unlock()
	var object any = event.Object
	if transform != nil {
		var err error
		if object, err = transform(object); err != nil {
			return nil, fmt.Errorf("transforming an object of %s: %w", i.resource, err)
		}
	}
	old, exists, err := i.indexer.Get(object)
	if err != nil {
		return nil, err
	}
	if event.Type == watch.Deleted {
		return func(h cache.ResourceEventHandler) { h.OnDelete(object) }, i.indexer.Delete(object)
	}
	if i.shared != nil {
		i.shared.join(object)
	}
	if err := i.indexer.Update(object); err != nil {
		return nil, err
	}
	if exists {
		return func(h cache.ResourceEventHandler) { h.OnUpdate(old, object) }, nil
	}
	return func(h cache.ResourceEventHandler) { h.OnAdd(object, false) }, nil
}

// welcome lets each new handler be called with the existing objects. Only handlers that have joined in this way get
// events. A write from before a handler joined doesn't wait for the handler.
func (i *Informer) welcome() {
	i.mu.Lock()
	ctx := i.ctx
	i.mu.Unlock()
	i.progress.Update(func(p *progress) {
		for _, h := range p.handlers {
			if h.joined {
				continue
			}
			var existing []notification
			for _, object := range i.indexer.List() {
				existing = append(existing, func(h cache.ResourceEventHandler) { h.OnAdd(object, true) })
			}
			h.join(ctx, append(existing, func(cache.ResourceEventHandler) { h.synced.close() }))
			h.revision = p.revision
		}
	})
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (i *Informer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	h := &registration{handler: handler, synced: newDone(i.resource.String() + " handler"), progress: &i.progress, leave: func() {}}
	var err error
	i.progress.Update(func(p *progress) {
		if p.stopped {
			err = fmt.Errorf("the informer of %s has stopped", i.resource)
			return
		}
		h.revision = p.revision
		p.handlers = append(p.handlers, h)
	})
	if err != nil {
		return nil, err
	}
	i.notify()
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
	i.progress.Update(func(p *progress) {
		p.handlers = slices.DeleteFunc(slices.Clone(p.handlers), func(h *registration) bool {
			if h == handler {
				h.leave()
			}
			return h == handler
		})
	})
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
func (i *Informer) IsStopped() (stopped bool) {
	i.progress.Read(func(p progress) { stopped = p.stopped })
	return stopped
}
