package informer

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// barrierGrace is the time after which a write also stops waiting for an informer of client-go whose store has the write.
// If an object is created and deleted between two lists of an informer, no handler is ever called with the object, and
// the write would wait for barrierTimeout.
const barrierGrace = 250 * time.Millisecond

// observedInformer is an informer of client-go that records the writes with which its handlers have been called.
type observedInformer struct {
	cache.SharedIndexInformer
	ended func()

	started atomic.Bool

	handlers condition.Variable[observedHandlers]
}

// observed reports whether every handler has been called with the write. It is true for an informer that hasn't
// started, because the informer's first list will contain the write.
func (i *observedInformer) observed(w write) (observed bool) {
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

// Run implements cache.SharedInformer.
func (i *observedInformer) Run(stop <-chan struct{}) {
	i.RunWithContext(wait.ContextForChannel(stop))
}

// RunWithContext implements cache.SharedInformer.
func (i *observedInformer) RunWithContext(ctx context.Context) {
	i.started.Store(true)
	i.SharedIndexInformer.RunWithContext(ctx)
	i.ended()
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
