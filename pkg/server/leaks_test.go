package server_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// cyclesVariable is the environment variable with the number of servers that TestStoppedServersLeaveNothing starts. The
// default keeps the test short; a thousand show a smaller leak.
const cyclesVariable = "MINIAPI_TEST_CYCLES"

// The limits of what all cycles may leave behind. The runtime may use a few goroutines and files more.
const (
	leftBytes      = 20 << 20
	leftGoroutines = 2
	leftFiles      = 2
)

// Stopped servers leave no memory, goroutines, open files and temporary folders behind.
//
//nolint:paralleltest // the memory of other tests would count
func TestStoppedServersLeaveNothing(t *testing.T) {
	cycles := 30
	if set := os.Getenv(cyclesVariable); set != "" {
		var err error
		if cycles, err = strconv.Atoi(set); err != nil {
			t.Fatalf("%s: %v", cyclesVariable, err)
		}
	}
	startAndStop(t) // the first server makes the values that all servers of the process share
	before := measure(t)
	for range cycles {
		startAndStop(t)
	}
	var after usage
	// Goroutines and files of connections end shortly after their server.
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		after = measure(t)
		return after.heap <= before.heap+leftBytes && after.goroutines <= before.goroutines+leftGoroutines &&
			after.files <= before.files+leftFiles && after.folders <= before.folders, nil
	})
	t.Logf("after 1 server: %s; after %d servers: %s", before, cycles+1, after)
	if err != nil {
		t.Errorf("%d stopped servers have left something: %s before, %s after", cycles, before, after)
	}
}

// usage is what a process uses.
type usage struct {
	heap uint64
	// files is 0 on systems without /proc. folders is the number of temporary folders of members.
	goroutines, files, folders int
}

func (u usage) String() string {
	return fmt.Sprintf("%d KiB of live heap, %d goroutines, %d files, %d temporary folders", u.heap>>10, u.goroutines, u.files, u.folders)
}

func measure(t *testing.T) usage {
	t.Helper()
	var stats runtime.MemStats
	// A first collection runs finalizers and empties pools in part; the second frees what these have kept.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	u := usage{heap: stats.HeapAlloc, goroutines: runtime.NumGoroutine()}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(files)
	}
	for _, base := range []string{"/dev/shm", os.TempDir()} {
		locks, err := filepath.Glob(filepath.Join(base, "miniapi-*", "miniapi.lock"))
		if err != nil {
			t.Fatal(err)
		}
		for _, lock := range locks {
			if holder, err := os.ReadFile(lock); err == nil && bytes.Contains(holder, fmt.Appendf(nil, `"pid":%d,`, os.Getpid())) {
				u.folders++
			}
		}
	}
	return u
}

func startAndStop(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	options := server.NewOptions()
	options.Serving.BindPort = 0
	completed, err := options.Complete()
	if err != nil {
		t.Fatal(err)
	}
	config, err := completed.Config(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
		stop()
		err = <-ended
	case err = <-ended:
	}
	if err != nil {
		t.Fatal(err)
	}
}
