package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStop stops a server on which 50 watches are open: they keep nobody waiting, and nothing is left of it.
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

			p.signal(t, signal)
			code, stdout, stderr := p.exit(t)
			if code != 0 || stdout != "" || stderr != "" {
				t.Errorf("exit code %d, and more on stdout %q, on stderr %q", code, stdout, stderr)
			}
			for _, file := range files {
				if _, err := os.Stat(file); !os.IsNotExist(err) {
					t.Errorf("%s is left behind (%v)", file, err)
				}
			}
			u, err := url.Parse(config.Host)
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", u.Host)
			if err != nil {
				t.Fatalf("the port is still taken: %v", err)
			}
			_ = l.Close()
		})
	}
}

// dataFiles are the files of the embedded etcd that the process has open, as far as
// this system tells.
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

// TestStopDuringStart stops a server at many points of its start.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()

	for delay := 100 * time.Millisecond; delay <= 800*time.Millisecond; delay += 100 * time.Millisecond {
		p := start(t, "miniapi", "serve", "--secure-port=0")
		select {
		case <-p.done:
		case <-time.After(delay):
			p.signal(t, syscall.SIGTERM)
		}
		// Before the program has begun, the system ends it.
		if code, _, stderr := p.exit(t); code != 0 && code != -1 || stderr != "" {
			t.Errorf("after %s: exit code %d, and on stderr %q", delay, code, stderr)
		}
	}
}

func TestSecondSignal(t *testing.T) {
	t.Parallel()

	p, config := serve(t, "--shutdown-delay-duration=10m")
	p.signal(t, syscall.SIGTERM)
	// The server says that it is about to stop, so the first signal has arrived.
	for request := client(t, config).Discovery().RESTClient(); ; {
		if err := request.Get().AbsPath("/readyz").Do(t.Context()).Error(); err != nil {
			break
		}
	}
	p.signal(t, os.Interrupt)
	if code, _, _ := p.exit(t); code != exitFailed {
		t.Errorf("exit code %d, want %d: a second signal ends it at once", code, exitFailed)
	}
}
