package storage

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, c := range []struct {
		name, reason string
		f            func(tr *trap, over <-chan struct{}) error
		want         string // part of the error; empty if none is expected
	}{
		{"nothing", "the function returned", func(*trap, <-chan struct{}) error { return nil }, ""},
		{"error", "the function returned an error", func(*trap, <-chan struct{}) error { return refused }, "refused"},
		{"panic", "the process must go on", func(*trap, <-chan struct{}) error { panic("no page 7") }, "no page 7"},
		{"fatal entry", "etcd would end the process", func(tr *trap, _ <-chan struct{}) error {
			newLogger(io.Discard, tr).Fatal("disk is on fire")
			return nil
		}, "disk is on fire"},
		{"fatal entry of another goroutine", "the function waits for a goroutine that has ended", func(tr *trap, over <-chan struct{}) error {
			go newLogger(io.Discard, tr).Fatal("database is locked")
			<-over
			return nil
		}, "database is locked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			tr := newTrap()
			err := tr.guard(func() error { return c.f(tr, over) })
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q: %s", err, c.want, c.reason)
			}
		})
	}
}
