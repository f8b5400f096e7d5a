package condition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counter is a state with a String method.
type counter struct{ n int }

func (c counter) String() string { return fmt.Sprint("a count of ", c.n) }

func atLeast(n int) func(counter) bool { return func(c counter) bool { return c.n >= n } }

func TestWait(t *testing.T) {
	t.Parallel()
	const second = time.Second
	broken := errors.New("the store is broken")
	for _, test := range []struct {
		name, reason string
		act          func(*Variable[counter], context.CancelCauseFunc)
		until        int
		after        time.Duration
		want         string // the error; empty if none is expected
	}{{
		name:   "holds already",
		reason: "the predicate holds before the wait",
	}, {
		name:   "holds already, and the context has ended",
		reason: "a predicate that holds counts more than the end of the context",
		act:    func(_ *Variable[counter], end context.CancelCauseFunc) { end(broken) },
	}, {
		name:   "updated",
		reason: "the update wakes the goroutine",
		act:    func(v *Variable[counter], _ context.CancelCauseFunc) { v.Update(func(c *counter) { c.n++ }) },
		until:  1, after: second,
	}, {
		name:   "set",
		reason: "a new state is an update",
		act:    func(v *Variable[counter], _ context.CancelCauseFunc) { v.Set(counter{5}) },
		until:  2, after: second,
	}, {
		name:   "updated twice",
		reason: "an update that isn't enough leaves the goroutine waiting",
		act: func(v *Variable[counter], _ context.CancelCauseFunc) {
			v.Update(func(c *counter) { c.n++ })
			time.AfterFunc(second, func() { v.Update(func(c *counter) { c.n++ }) })
		},
		until: 2, after: 2 * second,
	}, {
		name:   "the context ends",
		reason: "the error has the cause and the last state",
		act: func(v *Variable[counter], end context.CancelCauseFunc) {
			v.Update(func(c *counter) { c.n = 1 })
			end(broken)
		},
		until: 2, after: second,
		want: "the store is broken: the last state is a count of 1",
	}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				var v Variable[counter]
				switch {
				case test.act != nil && test.after > 0:
					time.AfterFunc(second, func() { test.act(&v, end) })
				case test.act != nil:
					test.act(&v, end)
				}
				began := time.Now()
				err := v.Wait(ctx, atLeast(test.until))
				if took := time.Since(began); took != test.after {
					t.Errorf("%s: it took %v, want %v", test.reason, took, test.after)
				}
				if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
					t.Errorf("%s: error %v, want %q", test.reason, err, test.want)
				}
				if test.want != "" && !errors.Is(err, broken) {
					t.Errorf("%s: %v doesn't wrap the cause", test.reason, err)
				}
			})
		})
	}
}

// ending is a context that ends when Wait asks for its channel Done, right after an update.
type ending struct {
	context.Context
	end func()
}

func (e ending) Done() <-chan struct{} {
	e.end()
	return e.Context.Done()
}

// If the state meets the predicate before the context ends, Wait returns nil, even if Wait notices both at the same
// time. The test repeats the wait, because a select with two ready channels chooses one of them at random.
func TestWaitPrefersTheState(t *testing.T) {
	t.Parallel()
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		var v Variable[counter]
		end := func() {
			v.Set(counter{1})
			cancel()
		}
		if err := v.Wait(ending{ctx, end}, atLeast(1)); err != nil {
			t.Fatalf("the state met the predicate before the context ended, got %v", err)
		}
	}
}

// TestWaitShowsFields checks that the error of Wait shows the fields of a state without a String method, with their
// names.
func TestWaitShowsFields(t *testing.T) {
	t.Parallel()
	type progress struct{ Revision int64 }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := New(progress{7}).Wait(ctx, func(progress) bool { return false })
	if err == nil || !strings.HasSuffix(err.Error(), "{Revision:7}") || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestManyWait checks that every goroutine gets the state that it waits for, although other goroutines wait for other
// states and update the state at the same time.
func TestManyWait(t *testing.T) {
	t.Parallel()
	const goroutines, each = 16, 200
	v := New(counter{})
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			for n := 1; n <= each; n++ {
				v.Update(func(c *counter) { c.n++ })
				if err := v.Wait(t.Context(), atLeast(n)); err != nil {
					t.Error(err)
				}
			}
			if err := v.Wait(t.Context(), atLeast(goroutines*each)); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	v.Read(func(c counter) {
		if c.n != goroutines*each {
			t.Errorf("the count is %d", c.n)
		}
	})
}

// UpdateWhen changes the state only while the predicate holds: goroutines that each take one of a few places never take
// more places than there are.
func TestUpdateWhen(t *testing.T) {
	t.Parallel()
	const goroutines, each, places = 16, 100, 3
	v := New(counter{places})
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			for range each {
				if err := v.UpdateWhen(t.Context(), atLeast(1), func(c *counter) { c.n-- }); err != nil {
					t.Error(err)
				}
				v.Update(func(c *counter) {
					if c.n++; c.n < 1 || c.n > places {
						t.Errorf("%d places are free", c.n)
					}
				})
			}
		})
	}
	running.Wait()
}

// If its context ends first, UpdateWhen leaves the state as it is, and its error is that of Wait. If UpdateWhen changes
// the state, a goroutine that waits for the new state wakes.
func TestUpdateWhenGivesUp(t *testing.T) {
	t.Parallel()
	broken := errors.New("the store is broken")
	ctx, end := context.WithCancelCause(t.Context())
	end(broken)
	var v Variable[counter]
	double := func(c *counter) { c.n *= 2 }
	v.Set(counter{1})
	if err := v.UpdateWhen(ctx, atLeast(2), double); !errors.Is(err, broken) || err.Error() != "the store is broken: the last state is a count of 1" {
		t.Errorf("got %v", err)
	}
	done := make(chan error)
	go func() { done <- v.Wait(t.Context(), atLeast(2)) }()
	if err := v.UpdateWhen(ctx, atLeast(1), double); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A panic of a predicate, of an update or of a read leaves the variable usable.
func TestPanicUnlocks(t *testing.T) {
	t.Parallel()
	v := New(counter{})
	for name, call := range map[string]func(){
		"Wait": func() { _ = v.Wait(t.Context(), func(counter) bool { panic("no") }) },
		"UpdateWhen": func() {
			_ = v.UpdateWhen(t.Context(), func(counter) bool { return true }, func(*counter) { panic("no") })
		},
		"Update": func() { v.Update(func(*counter) { panic("no") }) },
		"Read":   func() { v.Read(func(counter) { panic("no") }) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s hides the panic", name)
				}
			}()
			call()
		}()
	}
	v.Set(counter{1})
	if err := v.Wait(t.Context(), atLeast(1)); err != nil {
		t.Error(err)
	}
}

// The frequent cases allocate no memory: a wait for a predicate that holds, and an update without a waiting goroutine.
func TestFastPathAllocatesNothing(t *testing.T) { // testing.AllocsPerRun doesn't work in parallel tests
	v, ctx := New(counter{1}), t.Context()
	if n := testing.AllocsPerRun(100, func() {
		v.Update(func(c *counter) { c.n++ })
		if v.Wait(ctx, func(c counter) bool { return c.n > 0 }) != nil {
			t.Error("it doesn't hold")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
