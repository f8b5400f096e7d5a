//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a running "miniapi serve" with a new data folder.
type process struct {
	command    *exec.Cmd
	dir        string
	kubeconfig string
	started    time.Duration // the time from exec to the ready line
}

// startProcess runs the binary on a free port, with further flags. It returns when the binary has printed its first
// line.
func startProcess(ctx context.Context, binary string, flags ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "miniapi-bench-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, kubeconfig: filepath.Join(dir, "admin.kubeconfig")}
	arguments := append([]string{"serve", "--secure-port=0", "--write-kubeconfig=" + p.kubeconfig}, flags...)
	p.command = exec.CommandContext(ctx, binary, arguments...)
	p.command.Dir = dir
	var logs strings.Builder
	p.command.Stderr = &logs
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}

	began := time.Now()
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// If the server ends before it is ready, its output ends, and there is no line.
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		waitErr := p.command.Wait()
		return nil, errors.Join(fmt.Errorf("%s is not ready: %w: %s", binary, waitErr, logs.String()), os.RemoveAll(dir))
	}
	p.started = time.Since(began)
	return p, nil
}

// stop ends the server with SIGTERM, waits for its end, and removes its folder.
func (p *process) stop() error {
	err := p.command.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = p.command.Wait()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// measureProcess measures miniapi as a process: its start, and its idle memory.
func measureProcess(ctx context.Context, t *table, binary string, rounds int) error {
	var starts []float64
	for range rounds {
		p, err := startProcess(ctx, binary)
		if err != nil {
			return err
		}
		if err := p.stop(); err != nil {
			return err
		}
		starts = append(starts, ms(p.started))
	}
	t.miniapi.set(&execReady, median(starts))

	p, err := startProcess(ctx, binary)
	if err != nil {
		return err
	}
	return errors.Join(p.measureMemory(ctx, t), p.stop())
}

func (p *process) measureMemory(ctx context.Context, t *table) error {
	if err := sleep(ctx, idleAfter); err != nil {
		return err
	}
	memory, err := memoryOf(p.command.Process.Pid, resident)
	if err != nil {
		return err
	}
	t.miniapi.set(&residentIdle, memory/1e6)
	return nil
}
