package integration_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// follower is a client that follows the requests of a server.
type follower struct {
	stream *bufio.Reader
	last   int64 // the id of the last request
}

// follow begins to follow requests for a resource, or all requests.
func follow(t testing.TB, srv *miniapitest.Server, resource string) *follower {
	t.Helper()
	request := srv.Client().Discovery().RESTClient().Get().AbsPath(admissiontrace.RequestsPath).Param("follow", "true").Param("resource", resource)
	stream := must(request.Stream(t.Context()))(t)
	t.Cleanup(func() { _ = stream.Close() })
	return &follower{stream: bufio.NewReader(stream)}
}

// next returns the next event. It fails the test if the event's request doesn't have a higher id than the last one.
func (f *follower) next(t testing.TB) admissiontrace.Event {
	t.Helper()
	var event admissiontrace.Event
	ok(t, json.Unmarshal(must(f.stream.ReadBytes('\n'))(t), &event))
	if event.Request == nil || event.Request.ID <= f.last {
		t.Fatalf("want the next request after %d, got %+v", f.last, event)
	}
	f.last = event.Request.ID
	return event
}

// With 32 clients, no request is lost. Each client that follows requests gets each request once, in the order of their
// ids, and the server keeps each request once. The requests of each client are in the order in which the client made
// them.
func TestRequestsOfManyClients(t *testing.T) {
	t.Parallel()
	const clients, each = 32, 10
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	install(t, srv, mutating("a", patch(miniapitest.Add("/metadata/labels/a", "1"))), validating("b", allow()))
	followers := []*follower{follow(t, srv, "configmaps"), follow(t, srv, "configmaps"), follow(t, srv, "configmaps")}
	var makers sync.WaitGroup
	for client := range clients {
		makers.Go(func() {
			for n := range each {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%02d-%d", client, n), Labels: map[string]string{"app": "db"}}}
				if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	followed := make([][]string, len(followers))
	for range clients * each {
		for i, follower := range followers {
			event := follower.next(t)
			if event.Missed > 0 {
				t.Fatalf("want all requests, got %d missed ones", event.Missed)
			}
			if calls := callsOf(event.Request); calls != 2 {
				t.Errorf("%s: want the calls of both webhooks, got %d", event.Request.Name, calls)
			}
			followed[i] = append(followed[i], event.Request.Name)
		}
	}
	makers.Wait()
	var kept []string
	for _, request := range recorded(t, srv, "configmaps") {
		kept = append(kept, request.Name)
	}
	for i, names := range followed {
		if strings.Join(kept, " ") != strings.Join(names, " ") {
			t.Errorf("follower %d: want the same requests as in the memory, got %d and %d", i, len(names), len(kept))
		}
	}
	next := map[string]int{}
	for _, name := range kept {
		client, n, _ := strings.Cut(name, "-")
		if n != fmt.Sprint(next[client]) {
			t.Errorf("client %s: want request %d next, got %s", client, next[client], n)
		}
		next[client]++
	}
}

// callsOf returns the number of calls of webhooks that allowed a request.
func callsOf(request *trace.Request) (calls int) {
	for _, admission := range request.Admissions {
		for _, step := range admission.Steps {
			for _, webhook := range step.Webhooks {
				if webhook.Call != nil && webhook.Call.Outcome == trace.Allowed {
					calls++
				}
			}
		}
	}
	return calls
}

// A client that follows requests and reads slowly gets the number of requests that it has missed. Requests don't wait
// for this client, and other clients miss none.
func TestSlowFollowers(t *testing.T) {
	t.Parallel()
	// The requests have more bytes than the buffers between the server and a client, which have some megabytes.
	const requests, size = 24, 400 << 10
	srv := miniapitest.Start(t, miniapitest.WithFlags("--trace-requests=4"))
	slow, others := follow(t, srv, ""), []*follower{follow(t, srv, "configmaps"), follow(t, srv, "configmaps")}
	follow(t, srv, "") // never read: the server can stop nevertheless
	create := func(name, data string) {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"data": data}}
		must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))(t)
		for i, other := range others {
			if event := other.next(t); event.Request.Name != name || event.Missed > 0 {
				t.Fatalf("follower %d: want %s, got %s after %d missed requests", i, name, event.Request.Name, event.Missed)
			}
		}
	}
	for n := range requests {
		create(fmt.Sprint("large-", n), strings.Repeat("x", size))
	}
	create("last", "")
	missed := int64(0)
	for name, before := "", int64(0); name != "last"; before = slow.last {
		event := slow.next(t)
		if name = event.Request.Name; before > 0 && event.Request.ID != before+event.Missed+1 {
			t.Errorf("want %d requests between %d and %d, got %d", event.Request.ID-before-1, before, event.Request.ID, event.Missed)
		}
		missed += event.Missed
	}
	if missed == 0 {
		t.Error("want missed requests")
	}
}
