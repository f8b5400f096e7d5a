package integration_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An injected fault makes the call of a webhook fail like a real failure of the webhook or of the connection, or
// changes the response. The webhook's failurePolicy then applies.
func TestFaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const url = `failed to call webhook: Post "https://127.0.0.1:PORT/w?timeout=1s": `
	for _, test := range []struct {
		name, reason, fault string
		// want is a part of the error, or "" for no error. calls is the number of calls that reach the webhook.
		want  string
		calls int
	}{
		{"refused", "no server listens", "refuse: true", url + "dial tcp: connect: connection refused", 0},
		{"error", "the server of the webhook fails", "status: 500",
			`failed to call webhook: an error on the server ("Internal Server Error") has prevented the request from succeeding`,
			0},
		{"timeout", "the webhook doesn't answer before its timeout", "timeout: true", url + "context deadline exceeded", 0},
		{"slow", "the latency exceeds the webhook's time", "latency: 1h", url + "context deadline exceeded", 0},
		{"late", "the webhook was called, and its response is lost", "{timeout: true, executed: true}",
			url + "context deadline exceeded", 1},
		{"reset", "the connection breaks", "reset: connection", url + "read tcp: read: connection reset by peer", 0},
		{"truncated", "the response breaks off", "truncate: 20",
			"failed to call webhook: unexpected error when reading response body. Please retry. Original error: unexpected EOF",
			1},
		{"wrong uid", "the response is for another review", "wrongUID: true",
			`received invalid webhook response: expected response.uid="UID", got "00000000-0000-0000-0000-000000000000"`,
			1},
		{"bad patch", "no object has the field", "badPatch: true",
			"returned a patch that can't be applied: error in remove for path: '/miniapi-injected-fault'", 1},
		{"short latency", "the webhook answers before its timeout", "latency: 10ms", "", 1},
		{"other webhook", "the fault is for another webhook", "{refuse: true, webhooks: [other]}", "", 1},
		{"other object", "the fault is for another object", "{refuse: true, names: [other]}", "", 1},
		{"other verb", "the fault is for another verb", "{refuse: true, verbs: [update]}", "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorder := install(t, srv, mutating("w", allow(), on("CREATE", "v1", "configmaps"), timeoutSeconds(1), failurePolicy(admissionregistrationv1.Fail)))
			fields := strings.Trim(test.fault, "{}")
			if !strings.Contains(fields, "webhooks:") {
				fields += ", webhooks: [w/w.example.com]"
			}
			inject(t, srv, "faults: [{name: it, "+fields+"}]")
			defer uninject(t, srv, "it")
			err := createThing(t, srv)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%s: %v", test.reason, err)
			case test.want != "" && err == nil:
				t.Errorf("%s: want the request to be refused", test.reason)
			case test.want != "" && !matches(test.want, err.Error()):
				t.Errorf("%s: want an error with %q, got %v", test.reason, test.want, err)
			}
			if calls := len(recorder.Reviews()); calls != test.calls {
				t.Errorf("%s: want %d calls, got %d", test.reason, test.calls, calls)
			}
		})
	}
}

// matches tells whether got contains want. In want, UID and PORT stand for any text.
func matches(want, got string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(want, "PORT", "UID"), "UID") {
		_, after, ok := strings.Cut(got, part)
		if !ok {
			return false
		}
		got = after
	}
	return true
}

// If a fault is injected into the call of a webhook with the failurePolicy Ignore, the request succeeds, and the
// server counts each of these calls.
func TestFaultsOfIgnoredWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	ignored := failurePolicy(admissionregistrationv1.Ignore)
	recorder := install(t, srv, mutating("a", stamp("a"), ignored), mutating("b", stamp("b"), ignored), validating("c", allow(), ignored))
	inject(t, srv, "faults: [{name: deaf, webhooks: [a.example.com, c.example.com], refuse: true}]")
	ok(t, createThing(t, srv))
	if diff := cmp.Diff([]string{"b"}, called(recorder)); diff != "" {
		t.Errorf("called webhooks (-want +got):\n%s", diff)
	}
	if injected := stateOf(t, srv, "deaf").Injected; injected != 2 {
		t.Errorf("want 2 calls with a fault, got %d", injected)
	}
}
