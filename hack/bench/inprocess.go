package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const (
	// firstRounds is the number of processes that measure the start of their first server.
	firstRounds = 7
	// idleServers is the number of idle servers that are measured together.
	idleServers = 4
	// idleAfter is the time after which a server counts as idle.
	idleAfter = 3 * time.Second

	resetObjects = 100
)

// quietLogs drops the log of the servers that run in this process.
func quietLogs() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

// startServer starts a server and sends it a request. It returns the time from the beginning to the response.
func startServer(ctx context.Context, options ...miniapitest.Option) (*miniapitest.Server, time.Duration, error) {
	began := time.Now()
	server, err := miniapitest.New(ctx, append(options, inprocess.Engine())...)
	if err != nil {
		return nil, 0, err
	}
	_, err = server.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	return server, time.Since(began), err
}

// measureFirst prints the time of the first start of a server in this process.
func measureFirst(ctx context.Context) error {
	server, took, err := startServer(ctx)
	if err != nil {
		return err
	}
	fmt.Println(ms(took))
	return server.Stop()
}

func firstStarts(ctx context.Context) ([]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var starts []float64
	for range firstRounds {
		out, err := exec.CommandContext(ctx, self, "-first").Output()
		if err != nil {
			return nil, fmt.Errorf("a process of its own for the first server: %w", err)
		}
		took, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return nil, err
		}
		starts = append(starts, took)
	}
	return starts, nil
}

// measureInProcess measures servers in this process, as a test runs them.
func measureInProcess(ctx context.Context, t *table, rounds int) error {
	starts, err := firstStarts(ctx)
	if err != nil {
		return err
	}
	t.miniapi.set(&firstStart, median(starts))

	// The first server makes everything that all servers of a process share, so it isn't measured.
	server, _, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	if err := measureReset(ctx, t, server, rounds); err != nil {
		return err
	}

	starts = nil
	var stops []float64
	for range rounds {
		later, took, err := startServer(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := later.Stop(); err != nil {
			return err
		}
		starts, stops = append(starts, ms(took)), append(stops, ms(time.Since(began)))
	}
	t.miniapi.set(&laterStart, median(starts))
	t.miniapi.set(&stopTime, median(stops))
	if err := measureDefinitions(ctx, t, server, rounds); err != nil {
		return err
	}
	return measureIdle(ctx, t)
}

// measureIdle measures the heap and the goroutines of idle servers.
func measureIdle(ctx context.Context, t *table) error {
	heapBefore, goroutinesBefore, err := settled(ctx)
	if err != nil {
		return err
	}
	for range idleServers {
		server, err := miniapitest.New(ctx, inprocess.Engine())
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

// settled waits until this process is idle. It returns the size of the heap in bytes, and the number of goroutines.
func settled(ctx context.Context) (float64, int, error) {
	if err := sleep(ctx, idleAfter); err != nil {
		return 0, 0, err
	}
	for range 3 { // objects with finalizers are freed only by a later collection
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

func measureReset(ctx context.Context, t *table, server *miniapitest.Server, rounds int) error {
	configMaps := server.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault)
	var resets []float64
	for range rounds {
		for i := range resetObjects {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("reset-", i)}}
			if _, err := configMaps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		began := time.Now()
		if err := server.Reset(); err != nil {
			return err
		}
		resets = append(resets, ms(time.Since(began)))
	}
	t.miniapi.set(&reset, median(resets))
	return nil
}
