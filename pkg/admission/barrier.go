package admission

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

const (
	// barrierTimeout bounds the time for which a write waits for the informers. An informer gets a write within a
	// millisecond, unless its watch is broken or a handler is blocked.
	barrierTimeout = 10 * time.Second
	// barrierGrace is the time after which a write also stops waiting for an informer whose store has the write.
	// If an object is created and deleted between two lists of an informer, no handler is ever called with the object,
	// and the write would wait for barrierTimeout.
	barrierGrace = 250 * time.Millisecond
)

// Barrier makes a write wait until the informers of the same server have received it. So a webhook, a policy or a
// namespace is in force when the server answers the request that writes it.
//
// A write waits for two groups of informers of the written resource: informers from an [Informers] factory, and
// informers that were passed to Observe. If the resource has neither, the write doesn't wait.
type Barrier struct {
	timeout time.Duration
	// following is the context in which the informers run. When it ends, all waits end.
	following context.Context

	mu        sync.RWMutex
	informers map[schema.GroupResource][]*observedInformer
}

// NewBarrier returns a barrier for informers that run in the context following. When that context ends, all waits
// of the barrier end.
func NewBarrier(following context.Context) *Barrier {
	return &Barrier{
		timeout:   barrierTimeout,
		following: following,
		informers: map[schema.GroupResource][]*observedInformer{},
	}
}

// Wait returns when every handler of every informer of the resource has been called with the write that produced obj,
// or with a later write. obj carries the resourceVersion of the write, or of the deletion. An informer updates its
// store before it calls its handlers, so listers have the write too. After barrierGrace, an informer's store is enough:
// Wait then doesn't wait for handlers that haven't begun.
//
// Wait returns early when ctx or the server ends. After barrierTimeout it logs an error and returns: the write has
// succeeded and can't be undone.
func (b *Barrier) Wait(ctx context.Context, resource schema.GroupResource, obj runtime.Object) {
	b.mu.RLock()
	informers := b.informers[resource]
	b.mu.RUnlock()
	if len(informers) == 0 {
		return
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	version := versionOf(obj)
	if version == 0 {
		return // a dry run stores nothing, so the object has no resourceVersion
	}

	write := write{version: version, uid: accessor.GetUID()}
	isBehind := func(i *observedInformer) bool { return !i.hasObserved(write) }
	if !slices.ContainsFunc(informers, isBehind) {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	defer context.AfterFunc(b.following, cancel)()
	for _, informer := range informers {
		if err := informer.await(waiting, write); err != nil {
			if ctx.Err() == nil && b.following.Err() == nil {
				klog.FromContext(ctx).Error(err, "admission may still use the state before this write, because an informer has not observed the write in time",
					"resource", resource, "object", klog.KObj(accessor), "resourceVersion", version, "timeout", b.timeout)
			}
			return
		}
	}
}

// Observe makes the barrier wait for the handlers of an informer of the resource. The caller must use the returned
// informer in place of the argument. An [Informers] factory calls Observe for each of its informers. Call Observe for
// other informers, such as the informers of custom resources.
func (b *Barrier) Observe(resource schema.GroupResource, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	observed := &observedInformer{SharedIndexInformer: informer, barrier: b, resource: resource}
	// An informer may have a lister and no handler. This empty handler makes the barrier wait for that informer too.
	_, _ = observed.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.informers[resource] = append(b.informers[resource], observed)
	return observed
}

// forget removes an informer that has stopped, so that no write waits for it.
func (b *Barrier) forget(informer *observedInformer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Wait reads the old slice without the lock, so forget makes a new one.
	b.informers[informer.resource] = slices.DeleteFunc(slices.Clone(b.informers[informer.resource]), func(other *observedInformer) bool {
		return other == informer
	})
}

// checkers returns a checker for each informer and for each handler. An informer's checker is done after the informer's
// first list. A handler's checker is done when the handler has been called with all objects of that list.
func (b *Barrier) checkers() []cache.DoneChecker {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var checkers []cache.DoneChecker
	for _, informers := range b.informers {
		for _, informer := range informers {
			checkers = append(checkers, informer.checkers()...)
		}
	}
	return checkers
}

// write identifies a write of an object.
type write struct {
	version uint64
	uid     types.UID
}

// observedInformer is an informer that records the writes with which its handlers have been called.
type observedInformer struct {
	cache.SharedIndexInformer
	barrier  *Barrier
	resource schema.GroupResource

	started atomic.Bool

	handlers condition.Variable[observedHandlers]
}

// hasObserved reports whether every handler has been called with the write. It is true for an informer that hasn't
// started, because the informer's first list will contain the write.
func (i *observedInformer) hasObserved(w write) (observed bool) {
	if !i.started.Load() {
		return true
	}
	i.handlers.Read(func(all observedHandlers) { observed = all.observed(w) })
	return observed
}

// await returns when every handler has been called with the write. After barrierGrace, it also returns if the
// informer's store has the write and no handler is being called. The store doesn't report its progress, so await checks
// the store at least once every barrierGrace. When ctx ends, await returns an error.
func (i *observedInformer) await(ctx context.Context, w write) error {
	if !i.started.Load() {
		return nil
	}
	for trusted := false; ; trusted = true {
		round, cancel := context.WithTimeout(ctx, barrierGrace)
		err := i.handlers.Wait(round, func(all observedHandlers) bool {
			return all.observed(w) || trusted && i.stored(w, all)
		})
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// stored reports whether the informer's store has the write and no handler is being called.
func (i *observedInformer) stored(w write, all observedHandlers) bool {
	version, err := strconv.ParseUint(i.GetStore().LastStoreSyncResourceVersion(), 10, 64)
	return err == nil && version >= w.version && all.idle()
}

// observedHandlers are all handlers of one informer.
type observedHandlers []*observedHandler

// observed reports whether every handler has been called with the write.
func (all observedHandlers) observed(w write) bool {
	return !slices.ContainsFunc(all, func(h *observedHandler) bool { return !h.observed(w) })
}

// idle reports whether no handler is being called.
func (all observedHandlers) idle() bool {
	return !slices.ContainsFunc(all, func(h *observedHandler) bool { return h.busy.Load() })
}

// String returns the last resourceVersion of each handler.
func (all observedHandlers) String() string {
	versions := make([]string, len(all))
	for n, h := range all {
		versions[n] = strconv.FormatUint(h.version, 10)
	}
	return "handlers that were called with the resourceVersions " + strings.Join(versions, ", ")
}

func (i *observedInformer) checkers() []cache.DoneChecker {
	checkers := []cache.DoneChecker{i.HasSyncedChecker()}
	i.handlers.Read(func(all observedHandlers) {
		for _, handler := range all {
			if handler.registration != nil {
				checkers = append(checkers, handler.registration.HasSyncedChecker())
			}
		}
	})
	return checkers
}

// Starter is an informer that needs no goroutine of its own. Start returns at once. After the end of ctx, the
// informer stops and calls ended.
type Starter interface {
	Start(ctx context.Context, ended func())
}

// Run implements cache.SharedInformer.
func (i *observedInformer) Run(stop <-chan struct{}) {
	i.RunWithContext(wait.ContextForChannel(stop))
}

// RunWithContext implements cache.SharedInformer. For a [Starter], it returns at once, while the informer goes on.
// The early return does no harm, because the informer factory ignores it.
func (i *observedInformer) RunWithContext(ctx context.Context) {
	i.started.Store(true)
	if starter, ok := i.SharedIndexInformer.(Starter); ok {
		starter.Start(ctx, i.ended)
		return
	}
	i.SharedIndexInformer.RunWithContext(ctx)
	i.ended()
}

func (i *observedInformer) ended() {
	i.barrier.forget(i)
	i.handlers.Set(nil)
}

// AddEventHandler implements cache.SharedInformer.
func (i *observedInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i *observedInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (i *observedInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	observed := &observedHandler{ResourceEventHandler: handler, informer: i}
	registration, err := i.SharedIndexInformer.AddEventHandlerWithOptions(observed, options)
	if err != nil {
		return nil, err
	}
	i.handlers.Update(func(all *observedHandlers) {
		observed.registration = registration
		if len(*all) > 0 {
			// The informer calls a new handler with all objects in its store. The new handler therefore counts
			// as called with every write that the first handler has been called with.
			observed.version = max(observed.version, (*all)[0].version)
		}
		*all = append(*all, observed)
	})
	return registration, nil
}

// RemoveEventHandler implements cache.SharedInformer.
func (i *observedInformer) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	i.handlers.Update(func(all *observedHandlers) {
		*all = slices.DeleteFunc(*all, func(h *observedHandler) bool { return h.registration == registration })
	})
	return i.SharedIndexInformer.RemoveEventHandler(registration)
}

// observedHandler calls a handler, and then records the write with which it was called. Its fields version and lost
// change only in an update of observedInformer.handlers.
type observedHandler struct {
	cache.ResourceEventHandler
	informer     *observedInformer
	registration cache.ResourceEventHandlerRegistration

	// busy is true while the handler is being called. It is atomic, because it changes without an update of the
	// condition.Variable: a change of busy wakes no waiting goroutine.
	busy atomic.Bool
	// version is the latest resourceVersion with which the handler was called.
	version uint64
	// lost are the deleted objects whose deletion has no known resourceVersion: the informer missed the event, and
	// found the object missing in a new list. The next event with a later resourceVersion empties lost.
	lost map[types.UID]struct{}
}

func (h *observedHandler) observed(w write) bool {
	if h.version >= w.version {
		return true
	}
	_, lost := h.lost[w.uid]
	return lost
}

// OnAdd implements cache.ResourceEventHandler.
func (h *observedHandler) OnAdd(obj any, isInInitialList bool) {
	h.busy.Store(true)
	h.ResourceEventHandler.OnAdd(obj, isInInitialList)
	h.end(obj)
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *observedHandler) OnUpdate(oldObj, newObj any) {
	h.busy.Store(true)
	h.ResourceEventHandler.OnUpdate(oldObj, newObj)
	h.end(newObj)
}

// OnDelete implements cache.ResourceEventHandler.
func (h *observedHandler) OnDelete(obj any) {
	h.busy.Store(true)
	h.ResourceEventHandler.OnDelete(obj)
	h.end(obj)
}

// end records the write with which the handler was called. A resync or a list may call the handler with an older
// resourceVersion. end ignores older resourceVersions, because an update would wake all waiting goroutines for nothing.
func (h *observedHandler) end(obj any) {
	h.busy.Store(false)
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		h.lose(tombstone.Obj)
		return
	}
	version, isNews := versionOf(obj), false
	h.informer.handlers.Read(func(observedHandlers) { isNews = version > h.version })
	if isNews {
		h.informer.handlers.Update(func(*observedHandlers) {
			h.version = max(h.version, version)
			h.lost = nil
		})
	}
}

// lose records that an object was deleted at an unknown resourceVersion.
func (h *observedHandler) lose(obj any) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	h.informer.handlers.Update(func(*observedHandlers) {
		if h.lost == nil {
			h.lost = map[types.UID]struct{}{}
		}
		h.lost[accessor.GetUID()] = struct{}{}
	})
}

// versionOf returns the resourceVersion of an object as a number, or 0 if the object has none.
func versionOf(obj any) uint64 {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return 0
	}
	version, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}
