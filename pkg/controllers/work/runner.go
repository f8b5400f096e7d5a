package work

import (
	"context"
	"sync"
)

// Runner runs the work of all controllers of a server, until it is closed.
type Runner struct {
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	running sync.WaitGroup // incremented under mu, and never after the end of life
	held    int
	open    chan struct{}   // closed when the hold ends
	current context.Context // the context of running work; a hold ends it
	cancel  context.CancelFunc
	busy    int
	idle    chan struct{} // closed when busy becomes 0; nil if no Hold waits
	workers int           // the number of goroutines that handle keys, of all queues
	drained chan struct{} // closed when workers becomes 0; nil if no Drain waits
}

// NewRunner returns a Runner. The end of ctx ends its work. The caller must call Close, even after the end of ctx.
func NewRunner(ctx context.Context) *Runner {
	r := &Runner{}
	r.life, r.end = context.WithCancel(ctx)
	r.current, r.cancel = context.WithCancel(r.life)
	return r
}

// Life returns a context that ends when the Runner is closed, or when the context of NewRunner ends.
func (r *Runner) Life() context.Context { return r.life }

// Go runs f in a goroutine. Close waits for the end of this goroutine. After Close, Go does nothing. f must return
// when Life ends.
func (r *Runner) Go(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.Err() == nil {
		r.running.Go(f)
	}
}

// start runs a worker of a queue. Drain waits until no worker runs.
func (r *Runner) start(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.Err() != nil {
		return
	}
	r.workers++
	r.running.Go(func() {
		defer r.rest()
		f()
	})
}

func (r *Runner) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers--; r.workers == 0 && r.drained != nil {
		close(r.drained)
		r.drained = nil
	}
}

// Drain waits until no key is left in any queue, except delayed keys.
func (r *Runner) Drain(ctx context.Context) error {
	r.mu.Lock()
	if r.workers == 0 {
		r.mu.Unlock()
		return nil
	}
	if r.drained == nil {
		r.drained = make(chan struct{})
	}
	drained := r.drained
	r.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends all work. When it returns, all goroutines of the Runner have ended.
func (r *Runner) Close() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.running.Wait()
}

// Hold interrupts running work, and keeps new work from beginning until release is called. Hold returns when no
// work is running. Interrupted work is done again after the release.
func (r *Runner) Hold() (release func()) {
	r.mu.Lock()
	if r.held == 0 {
		r.open = make(chan struct{})
		r.cancel()
	}
	r.held++
	var idle chan struct{}
	if r.busy > 0 {
		if r.idle == nil {
			r.idle = make(chan struct{})
		}
		idle = r.idle
	}
	r.mu.Unlock()
	if idle != nil {
		<-idle
	}
	return sync.OnceFunc(r.release)
}

func (r *Runner) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held--; r.held == 0 {
		r.current, r.cancel = context.WithCancel(r.life)
		close(r.open)
	}
}

// Do runs f. If Hold has interrupted the work, Do first waits for the release. f must return soon when its context
// ends. Do returns the error of f, or the error of the Runner's context if the Runner is closed.
func (r *Runner) Do(f func(context.Context) error) error {
	ctx, err := r.begin()
	if err != nil {
		return err
	}
	defer r.finish()
	return f(ctx)
}

func (r *Runner) begin() (context.Context, error) {
	for {
		r.mu.Lock()
		if err := r.life.Err(); err != nil {
			r.mu.Unlock()
			return nil, err
		}
		if r.held == 0 {
			r.busy++
			ctx := r.current
			r.mu.Unlock()
			return ctx, nil
		}
		open := r.open
		r.mu.Unlock()
		select {
		case <-open:
		case <-r.life.Done():
		}
	}
}

func (r *Runner) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy--; r.busy == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}
