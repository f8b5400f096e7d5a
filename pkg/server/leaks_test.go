package server_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// cyclesVariable is the environment variable with the number of servers that TestMemoryOfStoppedServers starts. The default
// keeps the test short; a thousand show a smaller leak.
const cyclesVariable = "MINIAPI_TEST_CYCLES"

// leftBytes is the largest growth of the live heap after all cycles.
const leftBytes = 20 << 20

// Stopped servers leave no memory behind.
//
//nolint:paralleltest // the memory of other tests would count
func TestMemoryOfStoppedServers(t *testing.T) {
	cycles := 30
	if set := os.Getenv(cyclesVariable); set != "" {
		var err error
		if cycles, err = strconv.Atoi(set); err != nil {
			t.Fatalf("%s: %v", cyclesVariable, err)
		}
	}
	startAndStop(t) // the first server makes the values that all servers of the process share
	before := liveHeap()
	for range cycles {
		startAndStop(t)
	}
	after := liveHeap()
	t.Logf("live heap after 1 server: %d KiB, after %d servers: %d KiB", before>>10, cycles+1, after>>10)
	if after > before+leftBytes {
		t.Errorf("%d stopped servers have left %d bytes", cycles, after-before)
	}
}

// liveHeap returns the number of bytes of reachable objects.
func liveHeap() uint64 {
	var stats runtime.MemStats
	// A first collection runs finalizers and empties pools in part; the second frees what these have kept.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
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
