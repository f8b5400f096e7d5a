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
	// barrierTimeout bounds how long a write waits for the informers to see it. Observing a write takes
	// under a millisecond; only a broken watch or a handler that blocks gets anywhere near this.
	barrierTimeout = 10 * time.Second
	// barrierGrace is when a wait begins to trust an informer's store: an object that came and went
	// between two lists is never shown to a handler, yet the store is past it.
	barrierGrace = 250 * time.Millisecond
)

// Barrier makes a write wait until the informers of the same server have observed it, so that what
// is configured (a webhook, a policy, a namespace) is in force when the write is answered.
//
// It knows the informers that were requested through an [Informers] factory. Resources that no
// informer was requested for aren't waited for.
type Barrier struct {
	timeout time.Duration
	// following is the context in which the informers run. Its end ends every wait.
	following context.Context

	mu        sync.RWMutex
	informers map[schema.GroupResource][]*observedInformer
}

// NewBarrier returns a barrier whose waits end, at the latest, with the context in which the informers run.
func NewBarrier(following context.Context) *Barrier {
	return &Barrier{
		timeout:   barrierTimeout,
		following: following,
		informers: map[schema.GroupResource][]*observedInformer{},
	}
}

// Wait returns when every handler of every informer of the resource has been called with the write
// that produced obj, or with a later one. obj carries the resourceVersion of the write; after a
// deletion, that of the deletion. The stores of informers are updated before their handlers are
// called, so listers know the write too.
//
// It returns early when ctx or the server ends, and gives up with a logged error after a while: the
// write itself has succeeded, and can't be taken back.
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
		return // a dry run stores nothing
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
				klog.FromContext(ctx).Error(err, "admission may still act on the state before this write: an informer has not observed it in time",
					"resource", resource, "object", klog.KObj(accessor), "resourceVersion", version, "timeout", b.timeout)
			}
			return
		}
	}
}

// Observe makes the barrier wait for the handlers of an informer of the resource, and returns the
// informer to use in its place. [Informers] does it for every informer of the factory; informers
// that come from elsewhere, such as those of custom resources, are passed here.
func (b *Barrier) Observe(resource schema.GroupResource, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	observed := &observedInformer{SharedIndexInformer: informer, barrier: b, resource: resource}
	// A handler of our own stands for those who only use listers.
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
	// Waits may be reading the slice, so it is not changed in place.
	b.informers[informer.resource] = slices.DeleteFunc(slices.Clone(b.informers[informer.resource]), func(other *observedInformer) bool {
		return other == informer
	})
}

// checkers returns what tells that each informer has its first list, and each handler was called
// with all of it.
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

// observedInformer is an informer that knows how far its handlers have come.
type observedInformer struct {
	cache.SharedIndexInformer
	barrier  *Barrier
	resource schema.GroupResource

	started atomic.Bool

	handlers condition.Variable[observedHandlers]
}

// hasObserved says whether every handler has been called with the write, or whether the informer's first list, which is
// still to come, will contain the write.
func (i *observedInformer) hasObserved(w write) (observed bool) {
	if !i.started.Load() {
		return true
	}
	i.handlers.Read(func(all observedHandlers) { observed = all.observed(w) })
	return observed
}

// await returns when every handler has been called with the write. From barrierGrace on, it is enough that the store has
// seen the write. No event tells of the revision of the store: await looks at it after each barrierGrace.
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

// stored says whether the store has seen the write, and no handler is at work on what the store has seen.
func (i *observedInformer) stored(w write, all observedHandlers) bool {
	version, err := strconv.ParseUint(i.GetStore().LastStoreSyncResourceVersion(), 10, 64)
	return err == nil && version >= w.version && all.idle()
}

// observedHandlers are the handlers of one informer.
type observedHandlers []*observedHandler

// observed says whether every handler has been called with the write.
func (all observedHandlers) observed(w write) bool {
	return !slices.ContainsFunc(all, func(h *observedHandler) bool { return !h.observed(w) })
}

// idle says whether no handler is being called.
func (all observedHandlers) idle() bool {
	return !slices.ContainsFunc(all, func(h *observedHandler) bool { return h.busy.Load() })
}

// String says how far each handler has come.
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

// Starter is an informer that needs no goroutine to run on. Start returns at once; when the informer
// has stopped because ctx has ended, ended is called.
type Starter interface {
	Start(ctx context.Context, ended func())
}

// Run implements cache.SharedInformer.
func (i *observedInformer) Run(stop <-chan struct{}) {
	i.RunWithContext(wait.ContextForChannel(stop))
}

// RunWithContext implements cache.SharedInformer, but returns before the end if the informer is a
// [Starter]: the factory, which has started a goroutine for it, waits for nothing.
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
			// A handler that joins late is called with the whole store, and so is at least as far as the others.
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

// observedHandler passes events on, then notes that it has. It is part of the state of its informer.
type observedHandler struct {
	cache.ResourceEventHandler
	informer     *observedInformer
	registration cache.ResourceEventHandlerRegistration

	// busy is true while the handler is being called. It becomes true without an update of the state: no wait ends with
	// that.
	busy atomic.Bool
	// version is the latest resourceVersion that the handler was called with.
	version uint64
	// lost are objects whose deletion was noticed only by their absence from a new list: the
	// resourceVersion of the deletion is not known then. They are kept until a later event.
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

// end notes which write the handler has been called with. It wakes no goroutine if that is no news: a resync, or a list,
// may show older versions than were shown before.
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

// lose notes the deletion of an object.
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

// versionOf returns the resourceVersion as a number, 0 if there is none.
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
