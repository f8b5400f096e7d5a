package server

import (
	"context"
	"errors"
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

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// relistPeriod is how long an informer waits before it lists again what can't be read.
const relistPeriod = time.Second

// directInformer is an informer of what the server itself stores. client-go's own, on
// the loopback client, is a chain of some thirty goroutines from etcd's watch through
// watch cache, handlers, codecs and queues; this one takes etcd's events itself, on a
// goroutine that there is while something happens.
//
// It doesn't resync, and has no use for an error handler.
type directInformer struct {
	resource schema.GroupResource
	feed     func() *storage.Feed // nil until the store is made
	indexer  cache.Indexer

	synced *done
	events *storage.FeedWatch // of the working goroutine

	mu        sync.Mutex
	working   bool // on what has happened
	again     bool // something more has happened
	transform cache.TransformFunc
	handlers  []*directHandler
	started   bool
	stopped   bool
	ctx       context.Context // until which it runs
	ended     func()
}

var (
	_ cache.SharedIndexInformer = &directInformer{}
	_ admission.Starter         = &directInformer{}
)

// directInformer returns an informer for objects of the type, nil if they aren't stored
// in this process as what clients call them.
func (c *Config) directInformer(obj runtime.Object, resource schema.GroupResource) cache.SharedIndexInformer {
	if c.start == nil {
		return nil
	}
	kinds, _, err := builtin.Table().Scheme().ObjectKinds(obj)
	if err != nil || !slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return kind.Version == runtime.APIVersionInternal }) {
		return nil
	}
	return &directInformer{
		resource: resource,
		feed:     func() *storage.Feed { return c.member.Feed(resource) },
		indexer:  cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		synced:   newDone(resource.String()),
	}
}

// Start implements admission.Starter.
func (i *directInformer) Start(ctx context.Context, ended func()) {
	i.mu.Lock()
	i.started = true
	i.ctx, i.ended = ctx, ended
	i.mu.Unlock()
	context.AfterFunc(ctx, i.notify)
	i.notify()
}

// notify makes somebody work on what has happened.
func (i *directInformer) notify() {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case !i.started || i.stopped:
	case i.working:
		i.again = true
	default:
		i.working = true
		go i.work()
	}
}

// work does what is to be done, until there is nothing more.
func (i *directInformer) work() {
	for more := true; more; {
		if i.ctx.Err() != nil {
			i.stop()
			return
		}
		if err := i.follow(i.ctx); err != nil && i.ctx.Err() == nil {
			utilruntime.HandleErrorWithContext(i.ctx, err, "an informer lists again", "resource", i.resource)
			time.AfterFunc(relistPeriod, i.notify)
		}
		i.mu.Lock()
		more, i.again = i.again, false
		i.working = more
		i.mu.Unlock()
	}
}

// stop ends it for good.
func (i *directInformer) stop() {
	if i.events != nil {
		i.events.Stop()
	}
	i.mu.Lock()
	i.stopped = true
	i.handlers = nil
	i.mu.Unlock()
	i.ended()
}

// follow lists if it must, and takes the events that there are.
func (i *directInformer) follow(ctx context.Context) (err error) {
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

func (i *directInformer) list(ctx context.Context) error {
	feed := i.feed()
	if feed == nil {
		return errors.New("nothing is stored of it")
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

// replace makes the objects of a list those of the informer, and tells handlers of the
// difference.
func (i *directInformer) replace(objects []runtime.Object, revision int64) error {
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

// handle stores what has happened, and tells handlers.
func (i *directInformer) handle(event watch.Event) error {
	i.mu.Lock()
	transform := i.transform
	i.mu.Unlock()
	var object any = event.Object
	if transform != nil {
		var err error
		if object, err = transform(object); err != nil {
			return fmt.Errorf("transforming: %w", err)
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

// joined are the handlers that have been told what was there before them.
func (i *directInformer) joined() []*directHandler {
	i.mu.Lock()
	defer i.mu.Unlock()
	var handlers []*directHandler
	for _, h := range i.handlers {
		if h.joined {
			handlers = append(handlers, h)
		}
	}
	return handlers
}

// welcome tells new handlers what is there.
func (i *directInformer) welcome() {
	i.mu.Lock()
	var joining []*directHandler
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
func (i *directInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	defer i.notify()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		return nil, fmt.Errorf("the informer of %s has stopped", i.resource)
	}
	h := &directHandler{ResourceEventHandler: handler, synced: newDone(i.resource.String() + " handler")}
	i.handlers = append(i.handlers, h)
	return h, nil
}

// AddEventHandler implements cache.SharedInformer.
func (i *directInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i *directInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// RemoveEventHandler implements cache.SharedInformer.
func (i *directInformer) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = slices.DeleteFunc(slices.Clone(i.handlers), func(h *directHandler) bool { return h == registration })
	return nil
}

// AddIndexers implements cache.SharedIndexInformer.
func (i *directInformer) AddIndexers(indexers cache.Indexers) error {
	return i.indexer.AddIndexers(indexers)
}

// GetIndexer implements cache.SharedIndexInformer.
func (i *directInformer) GetIndexer() cache.Indexer { return i.indexer }

// GetStore implements cache.SharedInformer.
func (i *directInformer) GetStore() cache.Store { return i.indexer }

// GetController implements cache.SharedInformer.
func (i *directInformer) GetController() cache.Controller { return i }

// RunWithContext implements cache.SharedInformer.
func (i *directInformer) RunWithContext(ctx context.Context) {
	ended := make(chan struct{})
	i.Start(ctx, func() { close(ended) })
	<-ended
}

// Run implements cache.SharedInformer.
func (i *directInformer) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }

// HasSynced implements cache.SharedInformer.
func (i *directInformer) HasSynced() bool { return i.synced.HasSynced() }

// HasSyncedChecker implements cache.SharedInformer.
func (i *directInformer) HasSyncedChecker() cache.DoneChecker { return i.synced }

// LastSyncResourceVersion implements cache.SharedInformer.
func (i *directInformer) LastSyncResourceVersion() string {
	return i.indexer.LastStoreSyncResourceVersion()
}

// SetWatchErrorHandler implements cache.SharedInformer.
func (i *directInformer) SetWatchErrorHandler(cache.WatchErrorHandler) error { return i.unstarted() }

// SetWatchErrorHandlerWithContext implements cache.SharedInformer.
func (i *directInformer) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return i.unstarted()
}

// SetTransform implements cache.SharedInformer.
func (i *directInformer) SetTransform(transform cache.TransformFunc) error {
	if err := i.unstarted(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.transform = transform
	return nil
}

func (i *directInformer) unstarted() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.started {
		return fmt.Errorf("the informer of %s has already started", i.resource)
	}
	return nil
}

// IsStopped implements cache.SharedInformer.
func (i *directInformer) IsStopped() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped
}
