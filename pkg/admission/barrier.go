package admission

import (
	"context"
	"slices"
	"strconv"
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
	// stopped ends every wait; nil never does.
	stopped <-chan struct{}

	mu        sync.RWMutex
	informers map[schema.GroupResource][]*observedInformer
}

// NewBarrier returns a barrier whose waits end, at the latest, when stopped is closed.
func NewBarrier(stopped <-chan struct{}) *Barrier {
	return &Barrier{
		timeout:   barrierTimeout,
		stopped:   stopped,
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

	timeout, grace := time.NewTimer(b.timeout), time.NewTicker(barrierGrace)
	defer timeout.Stop()
	defer grace.Stop()
	write := write{version: version, uid: accessor.GetUID()}
	for _, informer := range informers {
		for trusted := false; ; {
			changed, done := informer.observed(write)
			if done || trusted && informer.stored(write) {
				break
			}
			select {
			case <-changed:
			case <-grace.C:
				trusted = true
			case <-ctx.Done():
				return
			case <-b.stopped:
				return
			case <-timeout.C:
				klog.FromContext(ctx).Error(nil, "admission may still act on the state before this write: an informer has not observed it in time",
					"resource", resource, "object", klog.KObj(accessor), "resourceVersion", version, "timeout", b.timeout)
				return
			}
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

	mu       sync.Mutex
	handlers []*observedHandler
	// changed is closed and replaced when a handler has been called or has gone; nil while nobody waits.
	changed chan struct{}
}

// observed tells whether the write was seen, and if not, what is closed when that may have changed.
func (i *observedInformer) observed(w write) (<-chan struct{}, bool) {
	if !i.started.Load() {
		return nil, true // its first list will contain the write
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, handler := range i.handlers {
		if !handler.observed(w) {
			if i.changed == nil {
				i.changed = make(chan struct{})
			}
			return i.changed, false
		}
	}
	return nil, true
}

// stored tells whether the store has seen the write, and no handler is at work on what the store has
// seen.
func (i *observedInformer) stored(w write) bool {
	version, err := strconv.ParseUint(i.GetStore().LastStoreSyncResourceVersion(), 10, 64)
	if err != nil || version < w.version {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return !slices.ContainsFunc(i.handlers, func(h *observedHandler) bool { return h.busy })
}

func (i *observedInformer) notifyLocked() {
	if i.changed != nil {
		close(i.changed)
		i.changed = nil
	}
}

func (i *observedInformer) checkers() []cache.DoneChecker {
	i.mu.Lock()
	defer i.mu.Unlock()
	checkers := []cache.DoneChecker{i.HasSyncedChecker()}
	for _, handler := range i.handlers {
		if handler.registration != nil {
			checkers = append(checkers, handler.registration.HasSyncedChecker())
		}
	}
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
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = nil
	i.notifyLocked()
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
	i.mu.Lock()
	defer i.mu.Unlock()
	observed.registration = registration
	if len(i.handlers) > 0 {
		// Who joins late is called with what is in the store, and so at least this far.
		observed.version = max(observed.version, i.handlers[0].version)
	}
	i.handlers = append(i.handlers, observed)
	return registration, nil
}

// RemoveEventHandler implements cache.SharedInformer.
func (i *observedInformer) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	i.handlers = slices.DeleteFunc(i.handlers, func(h *observedHandler) bool { return h.registration == registration })
	i.notifyLocked()
	i.mu.Unlock()
	return i.SharedIndexInformer.RemoveEventHandler(registration)
}

// observedHandler passes events on, then notes that it has. Its own fields are guarded by the
// informer's mutex.
type observedHandler struct {
	cache.ResourceEventHandler
	informer     *observedInformer
	registration cache.ResourceEventHandlerRegistration

	// busy is true while the handler is being called.
	busy bool
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
	h.begin()
	h.ResourceEventHandler.OnAdd(obj, isInInitialList)
	h.end(obj)
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *observedHandler) OnUpdate(oldObj, newObj any) {
	h.begin()
	h.ResourceEventHandler.OnUpdate(oldObj, newObj)
	h.end(newObj)
}

// OnDelete implements cache.ResourceEventHandler.
func (h *observedHandler) OnDelete(obj any) {
	h.begin()
	h.ResourceEventHandler.OnDelete(obj)
	h.end(obj)
}

func (h *observedHandler) begin() {
	h.informer.mu.Lock()
	defer h.informer.mu.Unlock()
	h.busy = true
}

// end notes which write the handler has been called with.
func (h *observedHandler) end(obj any) {
	h.informer.mu.Lock()
	defer h.informer.mu.Unlock()
	h.busy = false
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		if accessor, err := meta.Accessor(tombstone.Obj); err == nil {
			if h.lost == nil {
				h.lost = map[types.UID]struct{}{}
			}
			h.lost[accessor.GetUID()] = struct{}{}
			h.informer.notifyLocked()
		}
		return
	}
	// A resync, or a list, may show older versions than were shown before.
	if version := versionOf(obj); version > h.version {
		h.version = version
		h.lost = nil
		h.informer.notifyLocked()
	}
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
