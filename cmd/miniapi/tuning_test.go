package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// A ready server without simultaneous requests uses one processor. With more than eight open watches, it uses all
// processors.
func TestProcessorsOfServe(t *testing.T) {
	t.Parallel()
	if os.Getenv("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		t.Skip("the process has no choice of processors")
	}
	_, config := serve(t)
	c := client(t, config)
	awaitProcessors(t, c, 1)
	for range 9 {
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
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
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
