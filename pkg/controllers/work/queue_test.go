package work_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// done records the keys that a queue has handled.
type done struct {
	mu   sync.Mutex
	keys []string
}

func (d *done) add(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keys = append(d.keys, key)
}

func (d *done) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := d.keys
	d.keys = nil
	return keys
}

// advance lets time pass in the synctest bubble of a test.
func advance(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // time in a bubble doesn't take real time
}

// hold holds the work of a runner.
func hold(t *testing.T, runner *work.Runner) (release func()) {
	t.Helper()
	release, err := runner.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func expect(t *testing.T, d *done, reason string, want ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, d.take()); diff != "" {
		t.Errorf("%s: what was done differs (-want +got):\n%s", reason, diff)
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := work.NewRunner(t.Context())
		defer runner.Close()
		var d done
		var fails atomic.Bool
		queue := work.NewQueue(runner, work.Options[string]{Do: func(_ context.Context, key string) (time.Duration, error) {
			d.add(key)
			switch {
			case key == "again":
				return time.Minute, nil
			case fails.Load():
				return 0, errors.New("no")
			}
			return 0, nil
		}})
		queue.Add("a")
		queue.Add("b")
		expect(t, &d, "keys are done in order", "a", "b")

		queue.AddAfter("later", time.Minute)
		queue.AddAfter("later", time.Hour)
		expect(t, &d, "a delayed key waits")
		advance(time.Minute)
		expect(t, &d, "the sooner time holds", "later")
		advance(time.Hour)
		expect(t, &d, "and holds for both")

		queue.Add("again")
		expect(t, &d, "the key is done", "again")
		advance(time.Minute)
		expect(t, &d, "and done again after the time that it asked for", "again")

		fails.Store(true)
		queue.Add("failing")
		expect(t, &d, "the key fails", "failing")
		advance(5 * time.Millisecond)
		expect(t, &d, "it is tried again soon", "failing")
		advance(5 * time.Millisecond)
		expect(t, &d, "then later")
		advance(5 * time.Millisecond)
		expect(t, &d, "each time twice as late", "failing")
	})
}

// A key that is added while it is handled is handled once more afterwards. Two workers never handle the same key at
// the same time.
func TestQueueDoesAKeyOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := work.NewRunner(t.Context())
		defer runner.Close()
		var running, most, times atomic.Int32
		proceed := make(chan struct{})
		queue := work.NewQueue(runner, work.Options[string]{Workers: 3, Do: func(context.Context, string) (time.Duration, error) {
			most.Store(max(most.Load(), running.Add(1)))
			<-proceed
			running.Add(-1)
			times.Add(1)
			return 0, nil
		}})
		queue.Add("key")
		synctest.Wait()
		for range 3 {
			queue.Add("key")
		}
		close(proceed)
		synctest.Wait()
		if most.Load() != 1 || times.Load() != 2 {
			t.Errorf("want the key to be done twice, one after the other; it was done %d times, %d at once", times.Load(), most.Load())
		}
	})
}

// Hold interrupts work that is running. After the release, that work is done again, and Drain waits for it.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := work.NewRunner(t.Context())
		defer runner.Close()
		var d done
		slow := true
		queue := work.NewQueue(runner, work.Options[string]{Do: func(ctx context.Context, key string) (time.Duration, error) {
			if slow {
				<-ctx.Done()
				d.add(key + " interrupted")
				return 0, ctx.Err()
			}
			d.add(key)
			return 0, nil
		}})
		queue.Add("key")
		synctest.Wait()
		release := hold(t, runner)
		if diff := cmp.Diff([]string{"key interrupted"}, d.take()); diff != "" {
			t.Errorf("when Hold returns, what was done differs (-want +got):\n%s", diff)
		}
		slow = false
		queue.Add("other")
		synctest.Wait()
		release()
		if err := runner.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"key", "other"}, d.take()); diff != "" {
			t.Errorf("after the release, what was done differs (-want +got):\n%s", diff)
		}
	})
}

// A hold keeps new work from beginning, however long it takes.
func TestHoldKeepsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := work.NewRunner(t.Context())
		defer runner.Close()
		var d done
		queue := work.NewQueue(runner, work.Options[string]{Do: func(_ context.Context, key string) (time.Duration, error) {
			d.add(key)
			return 0, nil
		}})
		release := hold(t, runner)
		queue.Add("key")
		advance(time.Minute)
		expect(t, &d, "nothing is done during the hold")
		release()
		expect(t, &d, "the key is done after the release", "key")
	})
}

// The contexts of Hold, Do and Drain limit their waits. A Hold that gives up lets the work continue.
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := work.NewRunner(t.Context())
		defer runner.Close()
		begun, proceed := make(chan struct{}), make(chan struct{})
		queue := work.NewQueue(runner, work.Options[string]{Do: func(context.Context, string) (time.Duration, error) {
			close(begun)
			<-proceed
			return 0, nil
		}})
		queue.Add("key")
		<-begun
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := runner.Hold(limited); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 running functions") {
			t.Errorf("Hold returned during running work, or doesn't name the work: %v", err)
		}
		if err := runner.Drain(limited); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 running workers") {
			t.Errorf("Drain returned during running work, or doesn't name the work: %v", err)
		}
		if err := runner.Do(t.Context(), func(ctx context.Context) error { return ctx.Err() }); err != nil {
			t.Errorf("work doesn't continue after a Hold that has given up: %v", err)
		}
		close(proceed)
		if err := runner.Drain(t.Context()); err != nil {
			t.Error(err)
		}

		defer hold(t, runner)()
		limited, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := runner.Do(limited, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do ran during a hold, or doesn't wrap the cause: %v", err)
		}
	})
}

// A queue without keys has no goroutine. A queue of a closed runner does nothing.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		runner := work.NewRunner(t.Context())
		var d done
		queue := work.NewQueue(runner, work.Options[string]{Workers: 5, Do: func(_ context.Context, key string) (time.Duration, error) {
			d.add(key)
			return time.Minute, nil
		}})
		queue.Add("key")
		expect(t, &d, "the key is done", "key")
		if now := runtime.NumGoroutine(); now != before {
			t.Errorf("want no goroutine of an idle queue, got %d", now-before)
		}
		runner.Close()
		queue.Add("later")
		advance(time.Hour)
		expect(t, &d, "nothing is done after Close")
	})
}
