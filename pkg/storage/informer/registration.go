package informer

import (
	"sync"

	"k8s.io/client-go/tools/cache"
)

// registration is an event handler of an informer, with its progress: joined is true once the informer calls the
// handler with the existing objects, and synced is done after these calls.
type registration struct {
	cache.ResourceEventHandler
	joined bool // guarded by the lock of the informer
	synced *done
}

var _ cache.ResourceEventHandlerRegistration = &registration{}

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
