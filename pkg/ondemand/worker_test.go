package ondemand

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// The Worker calls its function once for all calls of Notify during a call, and has no goroutine between the calls.
func TestNotify(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, proceed := 0, make(chan struct{})
		w := New(t.Context(), func(context.Context) {
			calls++
			<-proceed
		}, nil)
		synctest.Wait()
		if calls != 0 {
			t.Errorf("%d calls before Notify", calls)
		}
		for range 3 {
			w.Notify()
			synctest.Wait()
		}
		if calls != 1 {
			t.Errorf("%d calls at the same time", calls)
		}
		close(proceed)
		synctest.Wait()
		if calls != 2 {
			t.Errorf("%d calls, want a second one for both calls of Notify during the first", calls)
		}
		w.Notify()
		synctest.Wait()
		if calls != 3 {
			t.Errorf("%d calls, want another one after a rest", calls)
		}
	})
}

// After the end of the context, the Worker calls the function end, once, and then nothing. Wait waits for that call,
// and for the call of work that is running. The test fails if a goroutine of its bubble is left.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		notified     bool
		want         int32
	}{
		{"at rest", "without an event, there is no work", false, 0},
		{"at work", "the end interrupts the work of an event", true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var calls, ends atomic.Int32
				w := New(ctx, func(ctx context.Context) {
					calls.Add(1)
					<-ctx.Done()
				}, func() { ends.Add(1) })
				if test.notified {
					w.Notify()
				}
				synctest.Wait()
				cancel()
				w.Wait()
				w.Notify()
				synctest.Wait()
				if calls.Load() != test.want || ends.Load() != 1 {
					t.Errorf("%s: %d calls, want %d; %d ends, want 1", test.reason, calls.Load(), test.want, ends.Load())
				}
			})
		})
	}
}

// A call of work that begins after Notify sees what happened before Notify, and no such call is lost.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 1000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var happened, seen atomic.Int64
	var w *Worker
	all := make(chan struct{})
	w = New(ctx, func(context.Context) {
		if now := happened.Load(); seen.Swap(now) < goroutines*each && now == goroutines*each {
			close(all)
		}
	}, nil)
	var notifying sync.WaitGroup
	for range goroutines {
		notifying.Go(func() {
			for range each {
				happened.Add(1)
				w.Notify()
			}
		})
	}
	notifying.Wait()
	<-all
	cancel()
	w.Wait()
}
