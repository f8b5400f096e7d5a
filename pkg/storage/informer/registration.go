package informer

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/ondemand"
)

// notification calls a handler for an event.
type notification func(cache.ResourceEventHandler)

// registration is an event handler of an informer, with a queue of the notifications that the handler hasn't got.
type registration struct {
	handler  cache.ResourceEventHandler
	synced   *done // after the calls with the objects that existed when the handler joined
	progress *condition.Variable[progress]

	// The variable progress guards the fields below.
	joined   bool             // true once the informer queues notifications
	worker   *ondemand.Worker // calls the handler; nil until the handler joins
	leave    func()           // ends the worker, if there is one
	queued   []notification
	reached  int64 // the etcd revision up to which notifications are queued
	revision int64 // the etcd revision up to which the handler has been called
}

var _ cache.ResourceEventHandlerRegistration = &registration{}

// join begins to call the handler, until ctx ends.
func (h *registration) join(ctx context.Context, existing []notification) {
	ctx, h.leave = context.WithCancel(ctx)
	h.joined, h.worker = true, ondemand.New(ctx, h.call, nil)
	h.queue(0, existing...)
}

// queue lets the handler be called with the notifications of an etcd revision.
func (h *registration) queue(revision int64, notifications ...notification) {
	h.queued = append(h.queued, notifications...)
	h.reached = max(h.reached, revision)
	h.worker.Notify()
}

// call calls the handler with the notifications in the queue.
func (h *registration) call(ctx context.Context) {
	var taken []notification
	var reached int64
	// Nobody waits for a shorter queue, so this is no Update, which would wake the goroutines that wait.
	h.progress.Read(func(progress) { taken, reached, h.queued = h.queued, h.reached, nil })
	for _, notify := range taken {
		if ctx.Err() != nil {
			return
		}
		notify(h.handler)
	}
	h.progress.Update(func(*progress) { h.revision = max(h.revision, reached) })
}

// end ends the calls of the handler, and returns after the last call.
func (h *registration) end() {
	if h.worker != nil {
		h.leave()
		h.worker.Wait()
	}
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (h *registration) HasSynced() bool { return h.synced.HasSynced() }

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration.
func (h *registration) HasSyncedChecker() cache.DoneChecker { return h.synced }

// done is a state that is reached once, such as the first complete list of an informer.
type done struct {
	name string
	once sync.Once
	over chan struct{}
}

var _ cache.DoneChecker = &done{}

func newDone(name string) *done { return &done{name: name, over: make(chan struct{})} }

func (d *done) close() { d.once.Do(func() { close(d.over) }) }

// Name implements cache.DoneChecker.
func (d *done) Name() string { return d.name }

// Done implements cache.DoneChecker.
func (d *done) Done() <-chan struct{} { return d.over }

// HasSynced reports whether d has been closed.
func (d *done) HasSynced() bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}
