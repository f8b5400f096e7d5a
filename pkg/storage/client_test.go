package storage

import (
	"context"
	"errors"
	"testing"
)

// A call with a context that has ended does nothing, as in a client that uses a network.
func TestCallsAfterTheirTime(t *testing.T) {
	t.Parallel()
	client := startMember(t, Options{}).client.Client
	over, cancel := context.WithCancel(t.Context())
	cancel()
	// Without the check in call(), the server would refuse only some of these calls, so the test makes
	// several calls.
	for range 20 {
		if _, err := client.Put(over, "late", "value"); !errors.Is(err, context.Canceled) {
			t.Fatalf("want the put to be canceled, got %v", err)
		}
	}
	found, err := client.Get(t.Context(), "late")
	if err != nil {
		t.Fatal(err)
	}
	if found.Count != 0 {
		t.Error("a put has happened after its context had ended")
	}
}

// A write that etcd has begun ends before gate.settle returns, even if the write's context has ended. A later write with
// such a context is refused.
func TestSettle(t *testing.T) {
	t.Parallel()
	g := &gate{running: t.Context(), failure: func() error { return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	begun, proceed, written := make(chan struct{}), make(chan struct{}), false
	method := func(ctx context.Context, _ string) (string, error) {
		close(begun)
		select {
		case <-proceed:
			written = true
			return "written", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if got, err := write(ctx, g, method, "a"); got != "written" || err != nil {
			t.Errorf("want the outcome of the write, got %q, %v", got, err)
		}
	}()
	<-begun
	cancel()
	if g.writes.TryLock() {
		t.Error("settle would not wait for the write")
	}
	close(proceed)
	if g.settle(); !written {
		t.Error("settle has returned before the write has ended")
	}
	<-ended
	if _, err := write(ctx, g, method, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("want a write after the end of its context to be refused, got %v", err)
	}
}
