//go:build unix

package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/host"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/process"
)

// With the argument "host", the test program takes the place of miniapi: it serves requests with a fake engine.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "host" {
		if err := host.Serve(context.Background(), os.Stdin, os.Stdout, host.Options{Engine: fakeEngine{}, Version: "v0.0.0"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if left := goroutines(); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "goroutines are left:", left)
		code = 1
	}
	os.Exit(code)
}

// goroutines returns the stack traces of goroutines that the engine has left. It waits for goroutines that are about to
// end.
func goroutines() (left string) {
	_ = wait.PollUntilContextTimeout(context.Background(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		all := make([]byte, 1<<20)
		traces := strings.Split(string(all[:runtime.Stack(all, true)]), "\n\n")
		left = strings.Join(slices.DeleteFunc(traces, func(trace string) bool {
			return !strings.Contains(trace, "/engine/process.")
		}), "\n\n")
		return left == "", nil
	})
	return left
}

// fakeEngine starts fake servers. The data folder of a description selects the behaviour of the server.
type fakeEngine struct{}

func (fakeEngine) Start(ctx context.Context, d engine.Description, events engine.Events) (engine.Server, error) {
	events.Log("starting")
	if filepath.Base(d.DataDir) == "fails early" {
		return nil, errors.New("the folder is in use")
	}
	events.Configured(fakeAuthority{})
	events.Warn("careful")
	switch filepath.Base(d.DataDir) {
	case "fails":
		return nil, errors.New("the disk is full")
	case "waits":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	s := &fakeServer{d: d, events: events, ended: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ended) })
	return s, nil
}

type fakeAuthority struct{}

func (fakeAuthority) CA() []byte { return []byte("ca") }

func (fakeAuthority) ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error) {
	return fmt.Append(nil, hosts, ips), []byte("key"), nil
}

type fakeServer struct {
	d         engine.Description
	events    engine.Events
	end       func()
	ended     chan struct{}
	snapshots atomic.Int32
}

func (s *fakeServer) Info() engine.Info {
	return engine.Info{Host: fmt.Sprint(os.Getpid()), Places: s.d.Services, Snapshots: true}
}

func (s *fakeServer) User(name string, groups []string) (cert, key []byte, err error) {
	switch name {
	case "ends":
		s.end()
	case "panics":
		go panic("out of ideas")
		select {}
	case "audited":
		s.events.Audit([]byte(`{"auditID":"a"}`))
	case "logs":
		for i := range 1000 {
			s.events.Log(fmt.Sprint(i))
		}
	}
	return []byte(name), fmt.Append(nil, groups), nil
}

func (s *fakeServer) Reach(_ context.Context, w engine.Webhook, _ time.Duration) error {
	return &engine.UntrustedError{Err: fmt.Errorf("webhook %q isn't trusted", w.Name)}
}

func (s *fakeServer) Keep(_ context.Context, objects []engine.Installed) error {
	return fmt.Errorf("kept %v as %s", objects, s.d.Kept)
}

func (s *fakeServer) Snapshot(context.Context) (engine.Snapshot, error) {
	return s.snapshots.Add(1), nil
}

func (s *fakeServer) Restore(_ context.Context, of engine.Snapshot) error {
	return fmt.Errorf("restored %v of %d", of, s.snapshots.Load())
}
func (s *fakeServer) Ended() <-chan struct{} { return s.ended }
func (s *fakeServer) Err() error {
	<-s.ended
	return errors.New("etcd has failed")
}

func (s *fakeServer) Stop() error {
	s.events.Log("stopped")
	s.end()
	return nil
}

func self(context.Context) (string, error) { return os.Executable() }

// logged collects the lines of a log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func events(log *logged) engine.Events {
	return engine.Events{Log: log.add, Warn: func(string) {}, Configured: func(engine.Authority) {}, Audit: func([]byte) {}}
}

func start(t *testing.T, e engine.Engine, d engine.Description) (engine.Server, *logged) {
	t.Helper()
	log := &logged{}
	s, err := e.Start(context.Background(), d, events(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s, log
}

func newEngine() *process.Engine { return &process.Engine{Program: self} }

// A request to a server arrives unchanged in the other process. The answer also comes back unchanged.
func TestServer(t *testing.T) {
	t.Parallel()
	e, log := newEngine(), &logged{}
	var authority engine.Authority
	var audited []byte
	var warned string
	place := engine.Place{Namespace: "a", Name: "b", Port: 3, Address: "c:4"}
	s, err := e.Start(context.Background(), engine.Description{Audit: true, Services: []engine.Place{place}}, engine.Events{
		Log: log.add, Warn: func(w string) { warned = w }, Configured: func(a engine.Authority) { authority = a },
		Audit: func(event []byte) {
			audited = event
			runtime.Goexit() // ends the goroutine, as t.FailNow does
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if warned != "careful" {
		t.Errorf("want the warning, got %q", warned)
	}
	if got := s.Info().PlaceOf("a", "b", 3); got != "c:4" {
		t.Errorf("want the place, got %q", got)
	}
	if cert, key, err := authority.ServingCertificate([]string{"x"}, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil || string(cert) != "[x] [127.0.0.1]" || string(key) != "key" || string(authority.CA()) != "ca" {
		t.Errorf("got the certificate %s, the key %s, error %v", cert, key, err)
	}
	if cert, groups, err := s.User("audited", []string{"g"}); err != nil || string(cert) != "audited" || string(groups) != "[g]" || !json.Valid(audited) {
		t.Errorf("got the user %s, groups %s, error %v, audit event %s", cert, groups, err, audited)
	}
	untrusted := (*engine.UntrustedError)(nil)
	if err := s.Reach(context.Background(), engine.Webhook{Name: "w"}, time.Second); !errors.As(err, &untrusted) || err.Error() != `webhook "w" isn't trusted` {
		t.Errorf("want an error that says why, got %v", err)
	}
	kept := []engine.Installed{{Index: 0, Warnings: []string{"w"}}}
	if err := s.Keep(context.Background(), kept); err == nil || err.Error() != "kept [{0 [w]}] as " {
		t.Errorf("want the error of the engine in the other process, got %v", err)
	}
	snapshot, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(context.Background(), snapshot); err == nil || err.Error() != "restored 1 of 1" {
		t.Errorf("want the error of the restore, got %v", err)
	}
	other, _ := start(t, e, engine.Description{})
	if err := other.Restore(context.Background(), snapshot); err == nil || !strings.Contains(err.Error(), "of another server") {
		t.Errorf("want an error, got %v", err)
	}
	if _, _, err := s.User("logs", nil); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := s.User("late", nil); err == nil || err.Error() != "the server has been stopped" {
		t.Errorf("want an error of a stopped server, got %v", err)
	}
	if n := len(log.lines); n != 1002 || log.lines[0] != "starting" || log.lines[500] != "499" || log.lines[n-1] != "stopped" {
		t.Errorf("want all lines in order, got %d: %q", n, log.lines)
	}
}

// Servers share a process if they have the same feature gates and emulated version.
func TestProcesses(t *testing.T) {
	t.Parallel()
	e := newEngine()
	usual, _ := start(t, e, engine.Description{})
	gate := map[string]bool{"A": true}
	for _, test := range []struct {
		name, reason string
		d            engine.Description
		same         bool
	}{
		{"flags", "flags are settings of a server", engine.Description{Flags: []string{"--a"}}, true},
		{"no gates", "an empty map sets no gate", engine.Description{FeatureGates: map[string]bool{}}, true},
		{"gates", "gates are settings of the process", engine.Description{FeatureGates: gate}, false},
		{"version", "the emulated version is a setting of the process", engine.Description{EmulatedVersion: "1.35"}, false},
	} {
		first, _ := start(t, e, test.d)
		second, _ := start(t, e, test.d)
		if first.Info().Host != second.Info().Host || (first.Info().Host == usual.Info().Host) != test.same {
			t.Errorf("%s: because %s, want the usual process %t, got %s and %s beside %s", test.name, test.reason, test.same,
				first.Info().Host, second.Info().Host, usual.Info().Host)
		}
		pid := 0
		_, _ = fmt.Sscan(first.Info().Host, &pid)
		if err := errors.Join(first.Stop(), second.Stop()); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(pid, 0); (err == nil) != test.same {
			t.Errorf("%s: after the last stop, want a process %t, got %v", test.name, test.same, err)
		}
	}
}

// A failed start returns the error with the log. The process can start other servers afterwards.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	e, log := newEngine(), &logged{}
	for folder, want := range map[string]string{"fails": "the disk is full", "fails early": "the folder is in use"} {
		log.lines = nil
		if _, err := e.Start(context.Background(), engine.Description{DataDir: folder}, events(log)); err == nil || err.Error() != want || len(log.lines) != 1 {
			t.Errorf("want the error %q and the log, got %v, %q", want, err, log.lines)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hasBegun := events(log)
	hasBegun.Log = func(string) { cancel() } // the other process has logged the beginning of the start
	if _, err := e.Start(ctx, engine.Description{DataDir: "waits"}, hasBegun); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("want the start to end with its context, got %v", err)
	}
	start(t, e, engine.Description{})
}

// Two servers need the same new process, and the first server starts it. The second server waits for the process, but
// only until its own context ends.
func TestWaitForStart(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 2), make(chan error)
	e := &process.Engine{Program: func(ctx context.Context) (string, error) {
		asked <- struct{}{}
		if err := <-answer; err != nil {
			return "", err
		}
		return self(ctx)
	}}
	begin := func() chan error {
		ended := make(chan error, 1)
		go func() {
			s, err := e.Start(context.Background(), engine.Description{}, events(&logged{}))
			if err == nil {
				err = s.Stop()
			}
			ended <- err
		}()
		return ended
	}
	first := begin()
	<-asked
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Start(ctx, engine.Description{}, events(&logged{})); err == nil || !strings.Contains(err.Error(), "which another server starts: context deadline exceeded") {
		t.Errorf("want the wait to end with its context, got %v", err)
	}
	second := begin()
	answer <- nil
	for _, ended := range []chan error{first, second} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	e = &process.Engine{Program: e.Program}
	first = begin()
	<-asked
	answer <- errors.New("no space is left")
	if err := <-first; err == nil || err.Error() != "no space is left" {
		t.Errorf("want the error of the build, got %v", err)
	}
}

// A server that ends by a failure has the reason in its error.
func TestEnd(t *testing.T) {
	t.Parallel()
	s, _ := start(t, newEngine(), engine.Description{})
	if _, _, err := s.User("ends", nil); err != nil {
		t.Fatal(err)
	}
	<-s.Ended()
	if err := s.Err(); err == nil || err.Error() != "etcd has failed" {
		t.Errorf("want the reason, got %v", err)
	}
}

// When a process ends, its servers have an error with the reason. The next server gets a new process.
func TestEndOfProcess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		end          func(engine.Server)
		want         string
	}{
		{"panic", "the trace of the panic is the reason", func(s engine.Server) { _, _, _ = s.User("panics", nil) },
			"panic: out of ideas"},
		{"kill", "a killed process writes no reason", func(s engine.Server) {
			pid := 0
			_, _ = fmt.Sscan(s.Info().Host, &pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}, "signal: killed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine()
			s, _ := start(t, e, engine.Description{})
			other, _ := start(t, e, engine.Description{})
			test.end(s)
			for _, s := range []engine.Server{s, other} {
				<-s.Ended()
				if _, err := s.Snapshot(context.Background()); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the miniapi process "+s.Info().Host+" has ended") {
					t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
				}
				if err := s.Stop(); err == nil {
					t.Error("want an error of Stop")
				}
			}
			if next, _ := start(t, e, engine.Description{}); next.Info().Host == s.Info().Host {
				t.Error("want another process")
			}
		})
	}
}

// If a program isn't miniapi, or has another version of the protocol, the error names the program.
func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	script := func(lines string) string {
		path := filepath.Join(t.TempDir(), "miniapi")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct{ name, reason, program, want string }{
		{"missing", "the system's error says that the file is missing", filepath.Join(t.TempDir(), "none"), "no such file"},
		{"another", "the program writes another first line", script("echo hello; cat"), "hasn't begun to serve tests"},
		{"goes on", "the program doesn't end at the end of its input", script("echo hello; exec sleep 600"),
			"hasn't begun to serve tests"},
		{"fails", "the program writes its reason", script("echo unknown command >&2; exit 2"), "unknown command"},
		{"protocol", "the program has another version of the protocol",
			script(`echo '{"protocol":"v7","version":"v9"}'; cat`),
			"is miniapi v9 with version v7 of the control protocol, and this fixture needs version " + control.Version},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := &process.Engine{Program: func(context.Context) (string, error) { return test.program, nil }}
			_, err := e.Start(context.Background(), engine.Description{}, events(&logged{}))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.program) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
}
