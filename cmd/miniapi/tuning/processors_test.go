package tuning

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// regulated has processors that set the field now in place of GOMAXPROCS.
type regulated struct {
	*processors
	now string // the present setting of GOMAXPROCS, "one" or "all"
}

func newRegulated() *regulated {
	r := &regulated{now: "all"}
	r.processors = &processors{one: func() { r.now = "one" }, all: func() { r.now = "all" }}
	return r
}

// serve begins n requests with a verb, and returns a function that ends them.
func (r *regulated) serve(verb string, n int) (release func()) {
	released := make(chan struct{})
	ended := make(chan struct{})
	handler := r.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	for range n {
		ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{Verb: verb})
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		go func() {
			handler.ServeHTTP(httptest.NewRecorder(), req)
			ended <- struct{}{}
		}()
	}
	synctest.Wait()
	return func() {
		close(released)
		for range n {
			<-ended
		}
	}
}

// pass advances the fake clock of package synctest, and returns when all goroutines wait.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestProcessors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		verb         string
		requests     int
		during       time.Duration
		want         string
	}{
		{"one", "a request goes from goroutine to goroutine", "get", 1, patience / 2, "one"},
		{"two", "each of the two requests needs a processor", "get", 2, 0, "all"},
		{"two that last", "the requests are still served", "get", 2, 10 * lull, "all"},
		{"one that lasts", "a deletion of a collection has workers", "deletecollection", 1, 10 * lull, "all"},
		{"few watches", "watches wait most of the time", "watch", fewWatches, 10 * lull, "one"},
		{"many watches", "each event goes to all watches", "watch", fewWatches + 1, 10 * lull, "all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRegulated()
				r.regulate()
				pass(2 * lull)
				if r.now != "one" {
					t.Fatalf("before any request: want one processor, got %s", r.now)
				}
				release := r.serve(tc.verb, tc.requests)
				pass(tc.during)
				if r.now != tc.want {
					t.Errorf("while they are served: want %s, got %s (%s)", tc.want, r.now, tc.reason)
				}
				release()
				pass(3 * lull)
				if r.now != "one" {
					t.Errorf("after them: want one processor, got %s", r.now)
				}
			})
		})
	}
}

// Before the server is ready, the process uses all processors, even without simultaneous requests.
func TestProcessorsBeforeTheServerIsReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegulated()
		r.serve("get", 1)()
		pass(10 * lull)
		if r.now != "all" {
			t.Errorf("want all processors, got %s", r.now)
		}
	})
}

func TestProcessorsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	if p := newProcessors(func(string) string { return "2" }); p != nil {
		t.Error("GOMAXPROCS=2: want the number of processors unchanged")
	}
}
