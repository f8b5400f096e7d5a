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
