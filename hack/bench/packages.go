//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// testProcesses is the number of test processes that run at the same time. "go test -p 20 ./..." in a project with 20
// packages runs as many.
const testProcesses = 20

// measurePackages measures test processes that start together, each with a server.
func measurePackages(ctx context.Context, t *table) error {
	measures := map[string]column{fixture().name: t.miniapi}
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		measures[referenceName] = t.reference
	}
	for name, c := range measures {
		if err := measureTogether(ctx, c, name); err != nil {
			return err
		}
	}
	return nil
}

// measureTogether measures the time until all test processes have a server, and the memory of the servers' processes.
func measureTogether(ctx context.Context, c column, name string) (err error) {
	var tests []*testProcess
	defer func() {
		for _, test := range tests {
			_ = test.input.Close() // the test process ends when its input ends
		}
		for _, test := range tests {
			err = errors.Join(err, test.command.Wait())
		}
	}()
	began := time.Now()
	for range testProcesses {
		test, err := startTestProcess(ctx, name)
		if err != nil {
			return err
		}
		tests = append(tests, test)
	}
	for _, test := range tests {
		if _, err := test.output.ReadString('\n'); err != nil {
			return fmt.Errorf("start a test process with the engine %s: %w", name, err)
		}
	}
	c.set(&packagesTime, time.Since(began).Seconds())
	if err := sleep(ctx, idleAfter); err != nil {
		return err
	}
	var sum float64
	for _, test := range tests {
		of, err := memoryOfDescendants(test.command.Process.Pid, proportional)
		if err != nil {
			return err
		}
		sum += of
	}
	c.set(&packagesMemory, sum/1e6)
	return nil
}

// testProcess is a process with one server. The process writes a line when the server is ready, and ends when its input
// ends.
type testProcess struct {
	command *exec.Cmd
	input   io.Closer
	output  *bufio.Reader
}

func startTestProcess(ctx context.Context, engine string) (*testProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self, "-first", engine)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &testProcess{command, input, bufio.NewReader(output)}, command.Start()
}
