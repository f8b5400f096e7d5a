package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// A run that a signal ends removes all of its objects, even if its output has no reader any longer.
func TestConformanceInterrupted(t *testing.T) {
	t.Parallel()
	// A program inherits an ignored SIGHUP, for example from tests under nohup. A test process that handles the signal
	// starts its programs with the signal's default action.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(handled) })
	server, config := serve(t)
	c, kubeconfig := client(t, config), server.kubeconfig(t)
	for _, tc := range []struct {
		name, reason string
		signals      []os.Signal
		unread       bool
		nohup        bool
		code         int
	}{
		{"SIGINT", "a user ends the run", []os.Signal{os.Interrupt}, false, false, 1},
		{"SIGTERM", "another program ends the run", []os.Signal{syscall.SIGTERM}, false, false, 1},
		{"SIGHUP", "the terminal is closed", []os.Signal{syscall.SIGHUP}, false, false, 1},
		{"SIGHUP twice", "the kernel and the shell both send the signal", []os.Signal{syscall.SIGHUP, syscall.SIGHUP}, false, false, 1},
		{"SIGINT in a pipeline", "the interrupt ends the reader of the output, too", []os.Signal{os.Interrupt}, true, false, 1},
		{"SIGHUP with nohup", "nohup keeps a run from the signal", []os.Signal{syscall.SIGHUP}, false, true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := []string{filepath.Join(programs, "miniapi"), "conformance", "apiserver", "--kubeconfig", kubeconfig, "--only", "timeout.*", "--parallel", "2"}
			if tc.nohup {
				args = append([]string{"nohup"}, args...)
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = writer
			p := startCommand(t, cmd)
			t.Cleanup(func() { _ = reader.Close() })
			if err := writer.Close(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "a case runs", func() bool {
				list, err := c.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: trial.LabelCase})
				return err == nil && len(list.Items) > 0
			})
			if tc.unread {
				_ = reader.Close()
			}
			for _, sent := range tc.signals {
				p.signal(t, sent)
			}
			if code, stdout, _ := p.exit(t); code != tc.code {
				t.Errorf("%s: want exit code %d, got %d and %q", tc.reason, tc.code, code, stdout)
			}
			noObjectsLeft(t, c)
		})
	}
}
