//go:build unix

package main

import (
	"context"
	"io"
	"runtime"
	"time"

	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const (
	// idleServers is the number of idle servers that are measured together.
	idleServers = 4
	// idleAfter is the time after which a server counts as idle.
	idleAfter = 3 * time.Second
)

// quietLogs drops the log of the servers that run in this process.
func quietLogs() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

// measureInProcess measures servers in this process, as a test with pkg/inprocess runs them.
func measureInProcess(ctx context.Context, t *table, rounds int) error {
	e := inProcess()
	if err := e.measure(ctx, t.miniapi, rounds); err != nil {
		return err
	}
	server, _, err := e.start(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	if err := measureDefinitions(ctx, t, e, server, rounds); err != nil {
		return err
	}
	if err := measureObjects(ctx, t, e, rounds); err != nil {
		return err
	}
	return measureIdle(ctx, t, e)
}

// measureIdle measures the heap and the goroutines of idle servers.
func measureIdle(ctx context.Context, t *table, e engine) error {
	heapBefore, goroutinesBefore, err := settled(ctx)
	if err != nil {
		return err
	}
	for range idleServers {
		server, err := miniapitest.New(ctx, e.options...)
		if err != nil {
			return err
		}
		defer func() { _ = server.Stop() }()
	}
	heapAfter, goroutinesAfter, err := settled(ctx)
	if err != nil {
		return err
	}
	t.miniapi.set(&heap, (heapAfter-heapBefore)/idleServers/1e6)
	t.miniapi.set(&goroutines, float64(goroutinesAfter-goroutinesBefore)/idleServers)
	return nil
}

// settled returns the heap of this process when it is idle, in bytes, and the number of goroutines.
func settled(ctx context.Context) (float64, int, error) {
	if err := sleep(ctx, idleAfter); err != nil {
		return 0, 0, err
	}
	for range 3 { // finalizers free memory for the next collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), runtime.NumGoroutine(), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
