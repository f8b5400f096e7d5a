// Package ondemand runs work that events cause, in a goroutine that exists only while there is work. A server has many
// parts that wait for rare events, so a goroutine for each of them would cost memory all the time.
//
// Don't use a [Worker] for work that differs between events, or that must run once for each event: package work of
// pkg/controllers has queues with keys. Don't use a Worker to wait for a state either: see package condition.
package ondemand

import (
	"context"
	"sync"
)

// Worker calls a function after each call of Notify. Several calls of Notify may cause one call of the function. The
// function is never called twice at the same time.
type Worker struct {
	ctx   context.Context
	work  func(context.Context)
	end   func()
	ended chan struct{} // closed after the call of end

	mu      sync.Mutex
	working bool // true while a goroutine runs, and after the call of end
	again   bool // true if Notify has been called since the last call of work began
}

// New returns a Worker that calls work with ctx. After the end of ctx, and after the last call of work, the Worker
// calls end once. The function end may be nil.
func New(ctx context.Context, work func(context.Context), end func()) *Worker {
	w := &Worker{ctx: ctx, work: work, end: end, ended: make(chan struct{})}
	context.AfterFunc(ctx, w.Notify)
	return w
}

// Notify makes the Worker call its function: at once, or after the present call. Notify returns without waiting for the
// call. After the end of the context, Notify doesn't call the function.
func (w *Worker) Notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.working {
		w.again = true
		return
	}
	w.working = true
	go w.run()
}

// Wait returns after the end of the context, and after the call of end. From then on, the Worker has no goroutine.
func (w *Worker) Wait() { <-w.ended }

// run calls work until no call of Notify is left. If the context has ended, run calls end, and the field working stays
// true, so that no other goroutine starts.
func (w *Worker) run() {
	for w.ctx.Err() == nil {
		w.work(w.ctx)
		if w.rest() {
			return
		}
	}
	if w.end != nil {
		w.end()
	}
	close(w.ended)
}

// rest tells whether the goroutine must end, because Notify hasn't been called since the last call of work began.
func (w *Worker) rest() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.working, w.again = w.again, false
	return !w.working
}
