package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running `miniapi serve`, in a folder of its own.
type process struct {
	command    *exec.Cmd
	dir        string
	kubeconfig string
	started    time.Duration // from exec to the line that says it is ready
}

// start runs the binary on a free port and returns when it has printed its first line.
func start(ctx context.Context, binary string) (*process, error) {
	dir, err := os.MkdirTemp("", "miniapi-bench-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, kubeconfig: filepath.Join(dir, "admin.kubeconfig")}
	p.command = exec.CommandContext(ctx, binary, "serve", "--secure-port=0", "--write-kubeconfig="+p.kubeconfig)
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
	// A server that ends before it is ready closes its output.
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		waitErr := p.command.Wait()
		return nil, errors.Join(fmt.Errorf("%s is not ready: %w: %s", binary, waitErr, logs.String()), os.RemoveAll(dir))
	}
	p.started = time.Since(began)
	return p, nil
}

// stop ends the server as a user does, and says how long that took.
func (p *process) stop() (time.Duration, error) {
	began := time.Now()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	err := p.command.Wait()
	return time.Since(began), errors.Join(err, os.RemoveAll(p.dir))
}

// settled is how long a server is left alone before it counts as idle.
const settled = 5 * time.Second

// idleMemory returns the resident memory, in bytes, of a server that has settled. Linux only.
func (p *process) idleMemory(ctx context.Context) (int64, error) {
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if size, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(size), " kB"), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("no VmRSS in the process's status")
}
