//go:build unix

package main

import (
	"syscall"
	"testing"
)

// makePipe makes a named pipe.
func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// pause stops the process until the end of the test.
func (p *process) pause(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	t.Cleanup(func() { p.signal(t, syscall.SIGCONT) })
}
