//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const (
	// firstRounds is the number of measurements of a first start: of the first server of a process, or of the first
	// server with new definitions.
	firstRounds = 7

	restoredObjects = 100
)

// engine is a way to run the servers of a test, and has the rows of the table for its measurements.
type engine struct {
	name    string
	options []miniapitest.Option
	// The row first is for the first server of a test process, and the row later is for the other servers.
	first, later, stop, reset, restore *row
}

// fixture returns the default engine of package miniapitest: the program $MINIAPI in a separate process.
func fixture() engine {
	return engine{"fixture", nil, &fixtureFirst, &fixtureLater, &fixtureStop, &fixtureReset, &fixtureRestore}
}

// inProcess returns the engine that runs servers in the test's process.
func inProcess() engine {
	return engine{"servers", []miniapitest.Option{inprocess.Engine()}, &firstStart, &laterStart, &stopTime, &reset, &restore}
}

// start starts a server and sends it a request. It returns the time from the beginning to the response.
func (e engine) start(ctx context.Context, options ...miniapitest.Option) (*miniapitest.Server, time.Duration, error) {
	began := time.Now()
	server, err := miniapitest.New(ctx, append(options, e.options...)...)
	if err != nil {
		return nil, 0, err
	}
	_, err = server.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	return server, time.Since(began), err
}

// addStart starts a server, adds the time of the start in milliseconds to the figures, and stops the server.
func (e engine) addStart(ctx context.Context, figures *[]float64, options ...miniapitest.Option) error {
	server, took, err := e.start(ctx, options...)
	if err != nil {
		return err
	}
	*figures = append(*figures, ms(took))
	return server.Stop()
}

// measure measures starts, stops, Reset and Restore.
func (e engine) measure(ctx context.Context, c column, rounds int) error {
	starts, err := e.firstStarts(ctx)
	if err != nil {
		return err
	}
	c.set(e.first, median(starts))

	// The start of this server isn't measured, because the first server of a process makes everything that the servers
	// of the process share.
	server, _, err := e.start(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	if err := e.measureRestores(ctx, c, server, rounds); err != nil {
		return err
	}

	starts = nil
	var stops []float64
	for range rounds {
		later, took, err := e.start(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := later.Stop(); err != nil {
			return err
		}
		starts, stops = append(starts, ms(took)), append(stops, ms(time.Since(began)))
	}
	c.set(e.later, median(starts))
	c.set(e.stop, median(stops))
	return nil
}

// firstStarts returns the times of first starts, each in a new process.
func (e engine) firstStarts(ctx context.Context) ([]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var starts []float64
	for range firstRounds {
		first := exec.CommandContext(ctx, self, "-first", e.name)
		first.Stderr = os.Stderr
		out, err := first.Output()
		if err != nil {
			return nil, fmt.Errorf("the first server of %s, started by %s: %w", e.name, first, err)
		}
		took, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return nil, err
		}
		starts = append(starts, took)
	}
	return starts, nil
}

// measureRestores measures Restore, which creates objects that were deleted, and Reset, which deletes them.
func (e engine) measureRestores(ctx context.Context, c column, server *miniapitest.Server, rounds int) error {
	configMaps := server.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault)
	var restores, resets []float64
	for range rounds {
		for i := range restoredObjects {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("restored-", i)}}
			if _, err := configMaps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		snapshot, err := server.Snapshot()
		if err != nil {
			return err
		}
		if err := configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
		began := time.Now()
		if err := server.Restore(snapshot); err != nil {
			return err
		}
		restores = append(restores, ms(time.Since(began)))
		began = time.Now()
		if err := server.Reset(); err != nil {
			return err
		}
		resets = append(resets, ms(time.Since(began)))
	}
	c.set(e.restore, median(restores))
	c.set(e.reset, median(resets))
	return nil
}

// holdFirst prints the time of the first server start in this process. The server runs until the end of standard input.
func holdFirst(ctx context.Context, name string) error {
	took, stop, err := startFirst(ctx, name)
	if err != nil {
		return err
	}
	fmt.Println(ms(took))
	_, _ = io.Copy(io.Discard, os.Stdin) // standard input ends when the parent process ends, even if the parent is killed
	return stop()
}

func startFirst(ctx context.Context, name string) (time.Duration, func() error, error) {
	if name == referenceName {
		environment, _, took, err := startReference(ctx)
		if err != nil {
			return 0, nil, err
		}
		return took, environment.Stop, nil
	}
	for _, e := range []engine{fixture(), inProcess()} {
		if e.name == name {
			server, took, err := e.start(ctx)
			if err != nil {
				return 0, nil, err
			}
			return took, server.Stop, nil
		}
	}
	return 0, nil, fmt.Errorf("-first %s: must be fixture, servers or envtest", name)
}
