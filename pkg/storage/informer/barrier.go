package informer

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// barrierTimeout bounds the time for which a write waits for the informers. An informer gets a write within a
// millisecond, unless its watch is broken or a handler is blocked.
const barrierTimeout = 10 * time.Second

// Barrier makes a write wait until the informers of the same server have received it. So a webhook, a policy or a
// namespace is in force when the server answers the request that writes it.
//
// A write waits for two groups of informers of the written resource: informers from a [Factory], and
// informers that were passed to Observe. If the resource has neither, the write doesn't wait.
type Barrier struct {
	timeout time.Duration
	// following is the context in which the informers run. When it ends, all waits end.
	following context.Context

	mu        sync.RWMutex
	informers map[schema.GroupResource][]awaited
}

// NewBarrier returns a barrier for informers that run in the context following. When that context ends, all waits
// of the barrier end.
func NewBarrier(following context.Context) *Barrier {
	return &Barrier{
		timeout:   barrierTimeout,
		following: following,
		informers: map[schema.GroupResource][]awaited{},
	}
}

// Wait returns when every handler of every informer of the resource has been called with the write that produced obj,
// or with a later write. obj carries the resourceVersion of the write, or of the deletion. An informer updates its
// store before it calls its handlers, so listers have the write too. After barrierGrace, the store of client-go's
// informers is enough: Wait then doesn't wait for their handlers that haven't begun.
//
// Wait returns early when ctx or the server ends. After barrierTimeout it logs an error and returns: the write has
// succeeded and can't be undone.
func (b *Barrier) Wait(ctx context.Context, resource schema.GroupResource, obj runtime.Object) {
	behind, write := b.behind(resource, obj)
	if len(behind) == 0 {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if err := b.await(waiting, behind, write); err != nil && ctx.Err() == nil && b.following.Err() == nil {
		klog.FromContext(ctx).Error(err, "admission may still use the state before this write, because an informer has not observed the write in time",
			"resource", resource, "uid", write.uid, "resourceVersion", write.version, "timeout", b.timeout)
	}
}

// Await is like Wait, for a write of any server. It has no timeout, and returns an error when ctx or the server ends.
func (b *Barrier) Await(ctx context.Context, resource schema.GroupResource, obj runtime.Object) error {
	behind, write := b.behind(resource, obj)
	return b.await(ctx, behind, write)
}

// behind returns the write that produced obj, and the informers of the resource that don't have it yet.
func (b *Barrier) behind(resource schema.GroupResource, obj runtime.Object) ([]awaited, write) {
	b.mu.RLock()
	informers := b.informers[resource]
	b.mu.RUnlock()
	if len(informers) == 0 {
		return nil, write{}
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, write{}
	}
	w := write{version: versionOf(obj), uid: accessor.GetUID()}
	isBehind := func(i awaited) bool { return !i.observed(w) }
	if w.version == 0 || !slices.ContainsFunc(informers, isBehind) { // a dry run stores nothing, so its object has no version
		return nil, write{}
	}
	return informers, w
}

func (b *Barrier) await(ctx context.Context, informers []awaited, w write) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.following, cancel)()
	for _, informer := range informers {
		if err := informer.await(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// Observe makes the barrier wait for the handlers of an informer of the resource. The caller must use the returned
// informer in place of the argument. A [Factory] calls Observe for each of its informers. Call Observe for other
// informers, such as the informers of custom resources.
func (b *Barrier) Observe(resource schema.GroupResource, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	if own, ok := informer.(*Informer); ok {
		b.add(resource, own)
		return &detached{own, func() { b.forget(resource, own) }}
	}
	observed := &observedInformer{SharedIndexInformer: informer}
	observed.ended = func() { b.forget(resource, observed) }
	// An informer may have a lister and no handler. This empty handler makes the barrier wait for that informer too.
	_, _ = observed.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	b.add(resource, observed)
	return observed
}

func (b *Barrier) add(resource schema.GroupResource, informer awaited) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.informers[resource] = append(b.informers[resource], informer)
}

// forget removes an informer that has stopped, so that no write waits for it.
func (b *Barrier) forget(resource schema.GroupResource, informer awaited) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Wait reads the old slice without the lock, so forget makes a new one.
	b.informers[resource] = slices.DeleteFunc(slices.Clone(b.informers[resource]), func(other awaited) bool { return other == informer })
}

func (b *Barrier) resources() []schema.GroupResource {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Keys(b.informers))
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

// awaited is an informer for which writes wait.
type awaited interface {
	// observed reports whether every handler has been called with the write.
	observed(w write) bool
	// await returns when every handler has been called with the write, or an error when ctx ends.
	await(ctx context.Context, w write) error
	// checkers returns the checker of the first list, and a checker for each handler.
	checkers() []cache.DoneChecker
}

// detached is an [Informer] of a Barrier. Its RunWithContext returns at once, so that it needs no goroutine. The early
// return does no harm, because the informer factory ignores it.
type detached struct {
	*Informer
	ended func()
}

// Run implements cache.SharedInformer.
func (d *detached) Run(stop <-chan struct{}) { d.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.SharedInformer.
func (d *detached) RunWithContext(ctx context.Context) { d.Start(ctx, d.ended) }

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
