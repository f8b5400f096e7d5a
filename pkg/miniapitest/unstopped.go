package miniapitest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
)

// origin is the place in the test where New was called.
type origin struct {
	place   string
	stopped atomic.Bool
}

// newOrigin returns the place in the test that calls New. Only New may call newOrigin, which takes the caller of its
// caller.
func newOrigin() *origin {
	place := "an unknown place"
	if _, file, line, ok := runtime.Caller(2); ok {
		place = fmt.Sprintf("%s:%d", file, line)
	}
	return &origin{place: place}
}

// lost has a finalizer, which runs when the test has no reference to a Server any more. Only the Server refers to it.
// The Server itself can't have the finalizer, because the Server is in a cycle of references.
type lost struct{ origin *origin }

// watch makes the process print a report when the test has no reference to a server any more, and hasn't stopped the
// server. The server continues to run, because the test may still use its clients.
func (o *origin) watch(s *Server) {
	s.lost = &lost{o}
	runtime.SetFinalizer(s.lost, func(l *lost) {
		if !l.origin.stopped.Load() {
			reportUnstopped("nothing refers any more to the server that New started at " + l.origin.place + ", and the server was not stopped")
		}
	})
}

// last returns the report that the next test process prints, if this process ends without stopping the server.
func (o *origin) last() string {
	return fmt.Sprintf("process %d (%s) has ended, and the server that New started at %s was not stopped", os.Getpid(), filepath.Base(os.Args[0]), o.place)
}

func reportUnstopped(what string) {
	fmt.Fprintf(os.Stderr, "miniapitest: %s: call Stop after the tests, or use Start or Main, which do\n", what)
}
