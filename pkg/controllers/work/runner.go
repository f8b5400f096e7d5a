package work

import (
	"context"
	"fmt"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// Runner runs the work of all controllers of a server, until it is closed.
type Runner struct {
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	running sync.WaitGroup // incremented under mu, and never after the end of life

	turns   condition.Variable[turns]
	workers condition.Variable[workers]
}

// turns is the state that decides whether work may begin.
type turns struct {
	held int // the number of holds that aren't released
	busy int // the number of calls of Do that run their functions
	// current ends when a hold begins, and when the life of the Runner ends. Then the contexts of the running functions
	// end, too.
	current   context.Context
	interrupt context.CancelFunc
}

// String implements fmt.Stringer, for errors.
func (t turns) String() string { return fmt.Sprintf("%d running functions, %d holds", t.busy, t.held) }

// workers is the number of goroutines that handle keys, of all queues.
type workers int

// String implements fmt.Stringer, for errors.
func (w workers) String() string { return fmt.Sprintf("%d running workers", int(w)) }

// NewRunner returns a Runner. The end of ctx ends its work. The caller must call Close, even after the end of ctx.
func NewRunner(ctx context.Context) *Runner {
	r := &Runner{}
	r.life, r.end = context.WithCancel(ctx)
	r.turns.Update(r.allow)
	return r
}

// allow makes a context for the work that begins from now on.
func (r *Runner) allow(t *turns) { t.current, t.interrupt = context.WithCancel(r.life) }

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
	r.workers.Update(func(n *workers) { *n++ })
	r.running.Go(func() {
		defer r.workers.Update(func(n *workers) { *n-- })
		f()
	})
}

// Drain waits until no key is left in any queue, except delayed keys.
func (r *Runner) Drain(ctx context.Context) error {
	if err := r.workers.Wait(ctx, func(n workers) bool { return n == 0 }); err != nil {
		return fmt.Errorf("waiting until the queues of the controllers are empty: %w", err)
	}
	return nil
}

// Close ends all work. When it returns, all goroutines of the Runner have ended.
func (r *Runner) Close() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.running.Wait()
}

// Hold interrupts running work, and keeps new work from beginning until release is called. Hold returns when no work is
// running. Interrupted work is done again after the release. If ctx ends while work is still running, Hold returns an
// error, and the work continues.
func (r *Runner) Hold(ctx context.Context) (release func(), err error) {
	r.turns.Update(func(t *turns) {
		t.held++
		t.interrupt()
	})
	release = sync.OnceFunc(r.release)
	if err := r.turns.Wait(ctx, func(t turns) bool { return t.busy == 0 }); err != nil {
		release()
		return nil, fmt.Errorf("waiting until interrupted work has ended: %w", err)
	}
	return release, nil
}

func (r *Runner) release() {
	r.turns.Update(func(t *turns) {
		if t.held--; t.held == 0 {
			r.allow(t)
		}
	})
}

// Do runs f. If a hold keeps work from beginning, Do first waits for the release, or for the end of ctx. The context of
// f ends when ctx ends, and when a hold interrupts the work. Then f must return soon. Do returns the error of f. If ctx
// has ended before f begins, Do returns an error that wraps the cause. ctx must end when the Runner is closed, at the
// latest.
func (r *Runner) Do(ctx context.Context, f func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var current context.Context
	if err := r.turns.UpdateWhen(ctx, func(t turns) bool { return t.held == 0 }, func(t *turns) {
		t.busy++
		current = t.current
	}); err != nil {
		return err
	}
	defer r.turns.Update(func(t *turns) { t.busy-- })
	defer context.AfterFunc(current, cancel)()
	return f(ctx)
}
