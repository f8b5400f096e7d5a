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
	// barrierTimeout bounds the wait of a write for the informers. Observing a write takes less than a millisecond;
	// only a broken watch or a blocked handler takes nearly as long as the timeout.
	barrierTimeout = 10 * time.Second
	// barrierGrace is the time after which a wait trusts an informer's store. An object that is created and deleted
	// between two lists never reaches a handler, but the store has passed its write.
	barrierGrace = 250 * time.Millisecond
)

// Barrier makes a write wait until the informers of the same server have observed it. So the configuration that is
// written (a webhook, a policy, a namespace) is in force when the write is answered.
//
// The barrier knows the informers that were requested through an [Informers] factory. It doesn't wait for resources
// without such an informer.
type Barrier struct {
	timeout time.Duration
	// following is the context in which the informers run. Its end ends all waits.
	following context.Context

	mu        sync.RWMutex
	informers map[schema.GroupResource][]*observedInformer
}

// NewBarrier returns a barrier. Its waits end, at the latest, with the context in which the informers run.
func NewBarrier(following context.Context) *Barrier {
	return &Barrier{
		timeout:   barrierTimeout,
		following: following,
		informers: map[schema.GroupResource][]*observedInformer{},
	}
}

// Wait returns when every handler of every informer of the resource has been called with the write that produced obj,
// or with a later one. obj carries the resourceVersion of the write, or of the deletion. An informer updates its store
// before it calls its handlers, so listers know the write too.
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
		return // a dry run writes nothing
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

// Observe makes the barrier wait for the handlers of an informer of the resource. The returned informer must be used in
// its place. [Informers] calls Observe for every informer of the factory. Call Observe for informers from elsewhere,
// such as those of custom resources.
func (b *Barrier) Observe(resource schema.GroupResource, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	observed := &observedInformer{SharedIndexInformer: informer, barrier: b, resource: resource}
	// This handler stands for users of the lister alone.
	_, _ = observed.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.informers[resource] = append(b.informers[resource], observed)
	return observed
}

// forget ends the observation of an informer that has stopped.
func (b *Barrier) forget(informer *observedInformer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Waits may be reading the slice, so forget replaces it.
	b.informers[informer.resource] = slices.DeleteFunc(slices.Clone(b.informers[informer.resource]), func(other *observedInformer) bool {
		return other == informer
	})
}

// checkers returns the checkers that each informer has its first list and each handler has been called with all of it.
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

// write identifies a change of an object.
type write struct {
	version uint64
	uid     types.UID
}

// observedInformer is an informer that records which writes its handlers have been called with.
type observedInformer struct {
	cache.SharedIndexInformer
	barrier  *Barrier
	resource schema.GroupResource

	started atomic.Bool

	handlers condition.Variable[observedHandlers]
}

// hasObserved reports whether every handler has been called with the write, or the informer's first list, which is
// still to come, will have the write.
func (i *observedInformer) hasObserved(w write) (observed bool) {
	if !i.started.Load() {
		return true
	}
	i.handlers.Read(func(all observedHandlers) { observed = all.observed(w) })
	return observed
}

// await returns when every handler has been called with the write. After barrierGrace, it is enough that the store has
// seen the write. The store's revision has no events: await checks it after each barrierGrace.
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

// stored reports whether the store has seen the write and no handler is being called.
func (i *observedInformer) stored(w write, all observedHandlers) bool {
	version, err := strconv.ParseUint(i.GetStore().LastStoreSyncResourceVersion(), 10, 64)
	return err == nil && version >= w.version && all.idle()
}

// observedHandlers are the handlers of one informer.
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

// Starter is an informer that needs no goroutine. Start returns at once. After the end of ctx, the informer stops and
// calls ended.
type Starter interface {
	Start(ctx context.Context, ended func())
}

// Run implements cache.SharedInformer.
func (i *observedInformer) Run(stop <-chan struct{}) {
	i.RunWithContext(wait.ContextForChannel(stop))
}

// RunWithContext implements cache.SharedInformer. For a [Starter], it returns before the informer stops: the factory,
// which starts a goroutine for the call, doesn't wait for it.
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
			// An informer calls a new handler with its whole store, so the handler has seen all that the other handlers have.
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

// observedHandler calls a handler and then records the write. It is part of the state of its informer.
type observedHandler struct {
	cache.ResourceEventHandler
	informer     *observedInformer
	registration cache.ResourceEventHandlerRegistration

	// busy is true while the handler is being called. Setting it is no update of the state: no wait ends with that.
	busy atomic.Bool
	// version is the latest resourceVersion with which the handler was called.
	version uint64
	// lost are objects that are missing from a new list. Their deletion has no known resourceVersion. They are kept
	// until a later event.
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

// end records the write with which the handler was called. It wakes no waiting goroutine for an older version, which a
// resync or a list may have.
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

// lose records the deletion of an object.
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

// versionOf returns the resourceVersion as a number, or 0 without one.
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
