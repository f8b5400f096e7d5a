package trial

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// pollInterval is the time between two checks whether a change is in effect.
const pollInterval = 20 * time.Millisecond

// Fail adds a finding: the last request had another result than the expected one. The case continues.
func (t *T) Fail(expected, seen string) {
	t.Report(conformance.Finding{Sent: t.last(), Expected: expected, Seen: seen})
}

// FailNow does the same as Fail, and ends the case.
func (t *T) FailNow(expected, seen string) {
	t.Fatal(conformance.Finding{Sent: t.last(), Expected: expected, Seen: seen})
}

// Equal adds a finding if two values differ in their JSON.
func (t *T) Equal(what string, expected, seen any) bool {
	if Same(expected, seen) {
		return true
	}
	t.Fail(fmt.Sprintf("%s: %s", what, text(expected)), fmt.Sprintf("%s: %s", what, text(seen)))
	return false
}

// True adds a finding if holds is false. The argument seen says what happened instead.
func (t *T) True(holds bool, expected, seen string) bool {
	if !holds {
		t.Fail(expected, seen)
	}
	return holds
}

// Contains adds a finding if the text seen doesn't contain the words.
func (t *T) Contains(what, words, seen string) bool {
	return t.True(strings.Contains(seen, words), fmt.Sprintf("%s with %q", what, words), fmt.Sprintf("%s: %q", what, seen))
}

// Eventually calls try until it returns "". If try still returns another text when the limit or the time of the case is
// over, Eventually ends the case with a finding that has the last text. Use Eventually for configurations, because a
// server may use a configuration only some time after it is stored.
func (t *T) Eventually(expected string, limit time.Duration, try func() string) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	missing := "no answer"
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		missing = try()
		return missing == "", nil
	})
	if err != nil {
		t.FailNow(expected, fmt.Sprintf("%s, after %v", missing, limit))
	}
}

func (t *T) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent
}
