package miniapitest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
)

// origin is the place of a call of New, whose server the caller must stop.
type origin struct {
	place   string
	stopped atomic.Bool
}

// newOrigin returns the place where the caller of newOrigin was called.
func newOrigin() *origin {
	place := "an unknown place"
	if _, file, line, ok := runtime.Caller(2); ok {
		place = fmt.Sprintf("%s:%d", file, line)
	}
	return &origin{place: place}
}

// lost is reached from a Server alone. Nothing that it refers to refers to it, so it has a finalizer that runs, which an
// object in a cycle, as a Server is, may not have.
type lost struct{ origin *origin }

// watch reports a server that nothing refers to any more, so that nothing can stop it. The server runs on: its clients
// may still be in use.
func (o *origin) watch(s *Server) {
	s.lost = &lost{o}
	runtime.SetFinalizer(s.lost, func(l *lost) {
		if !l.origin.stopped.Load() {
			reportUnstopped("nothing refers any more to the server that New started at " + l.origin.place + ", and the server was not stopped")
		}
	})
}

// last returns the report of the next process that finds files of the server.
func (o *origin) last() string {
	return fmt.Sprintf("process %d (%s) has ended, and the server that New started at %s was not stopped", os.Getpid(), filepath.Base(os.Args[0]), o.place)
}

func reportUnstopped(what string) {
	fmt.Fprintf(os.Stderr, "miniapitest: %s: call Stop after the tests, or use Start or Main, which do\n", what)
}
