package work

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Options are the settings of a queue.
type Options[K comparable] struct {
	// Name is the name of the controller in the log.
	Name string
	// Workers is the number of keys that may be handled at the same time. 0 stands for 1.
	Workers int
	// Do handles a key. If again isn't 0, the key is handled again after that time. If err isn't nil, the key is
	// handled again after a delay that Limiter determines.
	Do func(ctx context.Context, key K) (again time.Duration, err error)
	// Limiter determines the delay of a key after an error. By default, the delay is 5 ms after the first error,
	// and doubles with each further error, up to 1000 s.
	Limiter workqueue.TypedRateLimiter[K]
}

// Queue has keys, which workers handle. If a key is added several times before it is handled, it is handled once.
// If a key is added while a worker handles it, it is handled again afterwards.
type Queue[K comparable] struct {
	Options[K]
	runner *Runner

	mu      sync.Mutex
	waiting []K         // in the order of their addition
	queued  sets.Set[K] // the keys in waiting
	doing   map[K]bool  // the keys that are being handled; true if a key must be handled again
	delayed map[K]delay // the keys that will be added later
	workers int         // the number of goroutines that run work
}

type delay struct {
	at    time.Time
	timer *time.Timer
}

// NewQueue returns an empty queue. Its work ends with the runner.
func NewQueue[K comparable](runner *Runner, o Options[K]) *Queue[K] {
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Limiter == nil {
		o.Limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[K](5*time.Millisecond, 1000*time.Second)
	}
	q := &Queue[K]{Options: o, runner: runner, queued: sets.New[K](), doing: map[K]bool{}, delayed: map[K]delay{}}
	context.AfterFunc(runner.Life(), q.clear)
	return q
}

// Add adds a key. It is handled as soon as a worker is free.
func (q *Queue[K]) Add(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(key)
}

// AddAfter adds a key after a delay. If the key is already delayed, the earlier time counts.
func (q *Queue[K]) AddAfter(key K, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addAfter(key, after)
}

// AddLimited adds a key after the delay that the Limiter determines, as after an error.
func (q *Queue[K]) AddLimited(key K) { q.AddAfter(key, q.Limiter.When(key)) }

func (q *Queue[K]) addAfter(key K, after time.Duration) {
	switch {
	case q.runner.life.Err() != nil:
		return
	case after <= 0:
		q.add(key)
		return
	}
	at := time.Now().Add(after)
	if sooner, ok := q.delayed[key]; ok {
		if !sooner.at.After(at) {
			return
		}
		sooner.timer.Stop()
	}
	q.delayed[key] = delay{at, time.AfterFunc(after, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.delayed[key].at.Equal(at) {
			delete(q.delayed, key)
			q.add(key)
		}
	})}
}

func (q *Queue[K]) add(key K) {
	if q.runner.life.Err() != nil || q.queued.Has(key) {
		return
	}
	if _, ok := q.doing[key]; ok {
		q.doing[key] = true
		return
	}
	q.queued.Insert(key)
	q.waiting = append(q.waiting, key)
	if q.workers < q.Workers {
		q.workers++
		q.runner.start(q.work)
	}
}

// work handles keys until none is left.
func (q *Queue[K]) work() {
	for {
		key, ok := q.take()
		if !ok {
			return
		}
		var again time.Duration
		interrupted := false
		err := q.runner.Do(q.runner.Life(), func(ctx context.Context) (err error) {
			again, err = q.Do(ctx, key)
			interrupted = err != nil && ctx.Err() != nil
			return err
		})
		if interrupted {
			q.repeat(key)
		} else {
			q.done(key, again, err)
		}
	}
}

// repeat adds a key again whose work a hold has interrupted. The interruption doesn't count as an error of the key, so
// there is no delay.
func (q *Queue[K]) repeat(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.doing, key)
	q.add(key)
}

func (q *Queue[K]) take() (key K, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.workers--
		return key, false
	}
	key, q.waiting = q.waiting[0], q.waiting[1:]
	q.queued.Delete(key)
	q.doing[key] = false
	return key, true
}

func (q *Queue[K]) done(key K, again time.Duration, err error) {
	if err != nil {
		again = q.Limiter.When(key)
		if ctx := q.runner.Life(); ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("a controller tries again", "controller", q.Name, "key", key, "after", again, "err", err)
		}
	} else {
		q.Limiter.Forget(key)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	changed := q.doing[key]
	delete(q.doing, key)
	if changed {
		q.add(key)
	} else if again > 0 {
		q.addAfter(key, again)
	}
}

// clear drops all keys when the runner has ended.
func (q *Queue[K]) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, delayed := range q.delayed {
		delayed.timer.Stop()
	}
	clear(q.delayed)
	q.waiting, q.queued = nil, sets.New[K]()
}
