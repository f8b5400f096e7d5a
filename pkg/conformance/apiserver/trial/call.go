package trial

import (
	"fmt"
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// Call is a call of a webhook of the case.
type Call struct {
	*webhookserver.Call

	// Hook is the short name of the webhook.
	Hook string
	// Review is the decoded AdmissionReview or ConversionReview of the call.
	Review Object
}

// Request returns the request in the review.
func (c *Call) Request() Object { return c.Review.Sub("request") }

// Calls returns the calls of the case's webhooks since the last Forget, in the order of their arrival. With names, it
// returns only the calls of these webhooks.
func (t *T) Calls(hooks ...string) []*Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var calls []*Call
	for _, c := range t.calls {
		if len(hooks) == 0 || slices.Contains(hooks, c.Hook) {
			calls = append(calls, c)
		}
	}
	return calls
}

// Forget removes all recorded calls.
func (t *T) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = nil
}

// Called checks that exactly the expected webhooks were called since the last Forget, in this order, and then calls
// Forget.
func (t *T) Called(expected ...string) {
	seen := []string{}
	for _, c := range t.Calls() {
		seen = append(seen, c.Hook)
	}
	t.Forget()
	if expected == nil {
		expected = []string{}
	}
	t.Equal("the hooks that are called", expected, seen)
}

// One returns the request of the only call of a webhook since the last Forget, and then calls Forget. If there was no
// call, or more than one, the case fails.
func (t *T) One(hook string) Object {
	calls := t.Calls(hook)
	t.Forget()
	if len(calls) != 1 {
		seen := fmt.Sprintf("%d calls", len(calls))
		for _, c := range calls {
			seen += "\n" + text(c.Review)
		}
		t.Fatal(conformance.Finding{Sent: t.last(), Expected: fmt.Sprintf("one call of the webhook %q", hook), Seen: seen})
	}
	return calls[0].Request()
}
