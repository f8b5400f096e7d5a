package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// A signal stops a server with 50 open watches. The server leaves no file of its database behind.
func TestStop(t *testing.T) {
	t.Parallel()

	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p, config := serve(t)
			c := client(t, config)
			for range 50 {
				w, err := c.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
			}
			files := p.dataFiles()
			if runtime.GOOS == "linux" && len(files) == 0 {
				t.Error("it has no database open")
			}

			p.signal(t, signal)
			code, stdout, stderr := p.exit(t)
			if code != 0 || stdout != "" || stderr != "" {
				t.Errorf("exit code %d, and more on stdout %q, on stderr %q", code, stdout, stderr)
			}
			gone(t, files)
		})
	}
}

// dataFiles returns the database files of the embedded etcd that the process has open. On a system without /proc, the
// result is empty.
func (p *process) dataFiles() []string {
	var files []string
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	for _, link := range links {
		if file, err := os.Readlink(link); err == nil && strings.HasSuffix(file, filepath.Join("snap", "db")) {
			files = append(files, file)
		}
	}
	return files
}

// gone checks that none of the files exists any more.
func gone(t *testing.T, files []string) {
	t.Helper()
	for _, file := range files {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s is left behind (%v)", file, err)
		}
	}
}

// A signal stops a server at any point of its start. The server writes nothing to standard error, and leaves no file of
// its database behind. The test tries many points.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()

	const first, limit = 10 * time.Millisecond, 200
	stopped := 0 // the number of processes that have ended cleanly before they were ready
	for delay, ready, tries := first, false, 0; (!ready || stopped == 0) && tries < limit; tries++ {
		// On a busy machine, starts differ in length, so all signals may come too early or too late. Then begin again.
		if delay += delay / 5; ready {
			delay, ready = first, false
		}
		p := start(t, "miniapi", "serve", "--secure-port=0")
		select {
		case _, ready = <-p.lines:
		case <-time.After(delay):
		}
		files := p.dataFiles()
		p.signal(t, syscall.SIGTERM)
		code, _, stderr := p.exit(t)
		gone(t, files)
		// At an early point, the process has no signal handler yet, so the signal kills the process, and ExitCode returns -1.
		if code != 0 && code != -1 || stderr != "" {
			t.Errorf("after %s: exit code %d, and on stderr %q", delay, code, stderr)
		}
		if !ready && code == 0 {
			stopped++
		}
	}
	if stopped == 0 {
		t.Error("none was stopped during its start")
	}
}

// A signal stops a server that waits for a file during its start.
func TestStopOfWaitingStart(t *testing.T) {
	t.Parallel()

	pipe := filepath.Join(t.TempDir(), "pipe")
	makePipe(t, pipe)
	p := start(t, "miniapi", "serve", "--secure-port=0", "--audit-policy-file="+pipe, "--audit-log-path=-")
	unwritten, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the server has opened the pipe
	if err != nil {
		t.Fatal(err)
	}
	defer unwritten.Close()
	p.signal(t, syscall.SIGTERM)
	if code, _, stderr := p.exit(t); code != 0 || stderr != "" {
		t.Errorf("exit code %d, and on stderr %q", code, stderr)
	}
}

func TestSecondSignal(t *testing.T) {
	t.Parallel()

	p, config := serve(t, "--shutdown-delay-duration=10m")
	p.signal(t, syscall.SIGTERM)
	// Wait until /readyz fails. The server has received the first signal then.
	request := client(t, config).Discovery().RESTClient()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		last = request.Get().AbsPath("/readyz").Do(ctx).Error()
		return apierrors.IsInternalError(last), nil
	})
	if err != nil {
		t.Fatalf("it doesn't say that it is about to stop: %v", last)
	}
	p.signal(t, os.Interrupt)
	if code, _, _ := p.exit(t); code != cli.ExitFailed {
		t.Errorf("exit code %d, want %d: a second signal ends it at once", code, cli.ExitFailed)
	}
}
