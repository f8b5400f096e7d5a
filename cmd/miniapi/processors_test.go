package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
)

// regulated are processors with requests that last until they are released.
type regulated struct {
	*processors
	now string // which were taken last
}

func newRegulated() *regulated {
	r := &regulated{now: "all"}
	r.processors = &processors{one: func() { r.now = "one" }, all: func() { r.now = "all" }}
	return r
}

// serve begins n requests, and returns what ends them.
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

// pass lets the bubble's time pass, and then whatever was due.
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
		{"one", "it goes from goroutine to goroutine", "get", 1, patience / 2, "one"},
		{"two", "each has work for a processor", "get", 2, 0, "all"},
		{"two that last", "as long as they are served", "get", 2, 10 * lull, "all"},
		{"one that lasts", "a deletion of a collection has workers", "deletecollection", 1, 10 * lull, "all"},
		{"few watches", "they wait most of the time", "watch", fewWatches, 10 * lull, "one"},
		{"many watches", "each event goes to all of them", "watch", fewWatches + 1, 10 * lull, "all"},
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

// The start of a server takes all processors, however few requests there are.
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

func TestProcessorsThatTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	if p := newProcessors(func(string) string { return "2" }); p != nil {
		t.Error("GOMAXPROCS=2: want them left alone")
	}
}

// What the process says of itself follows its requests.
func TestProcessorsOfServe(t *testing.T) {
	t.Parallel()
	if newProcessors(os.Getenv) == nil {
		t.Skip("there are no processors to choose from")
	}
	_, config := serve(t)
	c := client(t, config)
	awaitProcessors(t, c, 1)
	for range fewWatches + 1 {
		watch, err := c.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watch.Stop)
	}
	awaitProcessors(t, c, runtime.GOMAXPROCS(0))
}

var processorsMetric = regexp.MustCompile(`(?m)^go_sched_gomaxprocs_threads (\d+)$`)

func awaitProcessors(t *testing.T, c kubernetes.Interface, want int) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), lull, deadline, true, func(ctx context.Context) (bool, error) {
		metrics, err := c.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			last = err
			return false, nil
		}
		match := processorsMetric.FindSubmatch(metrics)
		if match == nil {
			return false, errors.New("/metrics has no go_sched_gomaxprocs_threads")
		}
		last = fmt.Errorf("there are %s", match[1])
		return string(match[1]) == fmt.Sprint(want), nil
	})
	if err != nil {
		t.Fatalf("want %d processors: %v; at last: %v", want, err, last)
	}
}
