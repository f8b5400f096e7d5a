package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// timelineOf returns the timeline of the recorded requests for a resource, as text.
func timelineOf(t testing.TB, srv *miniapitest.Server, resource string) string {
	t.Helper()
	return string(must(srv.Client().Discovery().RESTClient().Get().AbsPath(admissiontrace.RequestsPath).
		Param("resource", resource).Param("output", "text").DoRaw(t.Context()))(t))
}

// The trace of a request shows the fault that was injected into the request, even if the request doesn't
// reach admission.
func TestFaultsOfRequestsAreTraced(t *testing.T) {
	t.Parallel()
	update := func(ctx context.Context, srv *miniapitest.Server) error { return updateThing(ctx, srv.Client()) }
	get := func(ctx context.Context, srv *miniapitest.Server) error {
		_, err := srv.Client().CoreV1().ConfigMaps("default").Get(ctx, "thing", metav1.GetOptions{})
		return err
	}
	for _, test := range []struct {
		name, reason, fault string
		request             func(context.Context, *miniapitest.Server) error
		verb                string
		code, admissions    int
		want                trace.Fault
		line                string
	}{
		{"conflict", "the fault ends the request before admission", "conflict: true", update, "update", 409, 0,
			trace.Fault{Name: "it", Effect: "conflict", Number: 1},
			"fault it: conflict, at request 1 of those that it selects"},
		{"executed", "the write takes effect, so it has been admitted", "{status: 503, executed: true}", update,
			"update", 503, 1, trace.Fault{Name: "it", Effect: "status 503", Number: 1},
			"fault it: status 503, at request 1"},
		{"latency", "a delayed request is served", "latency: 1ms", update, "update", 200, 1,
			trace.Fault{Name: "it", Latency: trace.Duration(time.Millisecond), Number: 1},
			"fault it: latency 1ms, at request 1"},
		{"reset", "a request without a response has no status", "reset: stream", update, "update", 0, 0,
			trace.Fault{Name: "it", Effect: "reset", Number: 1}, "-> no response"},
		{"read", "a read is recorded because of its fault", "status: 403", get, "get", 403, 0,
			trace.Fault{Name: "it", Effect: "status 403", Number: 1}, "fault it: status 403"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
			prepare(t, srv.Client(), true)
			inject(t, srv, "faults: [{name: it, resources: [configmaps], verbs: ["+test.verb+"], requests: 1, "+strings.Trim(test.fault, "{}")+"}]")
			_ = test.request(t.Context(), srv) // the fault may make the request fail
			all := recorded(t, srv, "configmaps")
			var faulty []*trace.Request
			for _, r := range all {
				if len(r.Faults) > 0 {
					faulty = append(faulty, r)
				}
			}
			if len(faulty) != 1 {
				t.Fatalf("%s: want one request with a fault, got %d of %d requests", test.reason, len(faulty), len(all))
			}
			got := faulty[0]
			if diff := cmp.Diff([]trace.Fault{test.want}, got.Faults); diff != "" {
				t.Errorf("%s: faults (-want +got):\n%s", test.reason, diff)
			}
			if got.Verb != test.verb || got.Code != test.code || len(got.Admissions) != test.admissions {
				t.Errorf("%s: want %s with status %d and %d admissions, got %s, %d and %d", test.reason, test.verb, test.code, test.admissions, got.Verb, got.Code, len(got.Admissions))
			}
			if timeline := timelineOf(t, srv, "configmaps"); !strings.Contains(timeline, test.line) {
				t.Errorf("%s: want a timeline with %q, got:\n%s", test.reason, test.line, timeline)
			}
		})
	}
}

// If an injected fault ends a watch, the trace has the watch. Reads without a fault aren't in the trace.
func TestFaultsOfWatchesAreTraced(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	w := watchThings(t, srv, encodings[0])
	inject(t, srv, "faults: [{name: it, resources: [configmaps], verbs: [watch], expire: true}]")
	events(t, w)
	eventually(t, func(context.Context) error {
		all := recorded(t, srv, "configmaps")
		if len(all) != 1 || all[0].Verb != "watch" || len(all[0].Faults) != 1 || all[0].Faults[0].Effect != "expire" {
			return fmt.Errorf("want one recorded request, a watch with the fault expire, got %d requests", len(all))
		}
		return nil
	})
}

// "miniapi trace why" names the injected fault that has prevented the call of a webhook, or has made the
// call fail.
func TestWhyNamesFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, fault, want string
		called                    bool
	}{
		{"request", "the request never reached admission", "{resources: [configmaps], verbs: [create], status: 500}",
			"was not called for CREATE of configmaps default/thing by system:admin: fault it: status 500 ended the request before admission: ",
			false},
		{"call", "the webhook matched, and the fault broke the call", "{webhooks: ['*'], refuse: true}",
			"connection refused: the server injected fault it: refuse.", true},
		{"wrong uid", "the webhook answered, and the fault changed the response", "{webhooks: ['*'], wrongUID: true}",
			"the server injected fault it: wrongUID.", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
			install(t, srv, mutating("w", allow(), on("CREATE", "v1", "configmaps"), failurePolicy(admissionregistrationv1.Fail)))
			inject(t, srv, "faults: [{name: it, "+test.fault[1:]+"]")
			err := createThing(t, srv)
			if err == nil {
				t.Fatal(errors.New("want the create of the ConfigMap to fail because of the fault, got no error"))
			}
			uninject(t, srv, "")
			got := why(t, srv, "MutatingWebhookConfiguration/w", "configmaps", "default", "thing")
			if got.Called != test.called || !strings.Contains(got.Sentence, test.want) {
				t.Errorf("%s: want called=%t and %q, got called=%t and %q", test.reason, test.called, test.want, got.Called, got.Sentence)
			}
			if line := "fault it: "; !strings.Contains(timelineOf(t, srv, "configmaps"), line) {
				t.Errorf("%s: want a timeline with %q, got:\n%s", test.reason, line, timelineOf(t, srv, "configmaps"))
			}
		})
	}
}
