package miniapitest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
)

// origin is where New was called for a server, which the caller must stop.
type origin struct {
	place   string
	stopped atomic.Bool
}

// newOrigin is where the function that calls it was called.
func newOrigin() *origin {
	place := "an unknown place"
	if _, file, line, ok := runtime.Caller(2); ok {
		place = fmt.Sprintf("%s:%d", file, line)
	}
	return &origin{place: place}
}

// watch reports a server that nothing refers to any more, so that nothing can stop it. Its clients may still be in
// use, so it goes on.
func (o *origin) watch(s *Server) {
	runtime.AddCleanup(s, func(o *origin) {
		if !o.stopped.Load() {
			reportUnstopped("nothing refers any more to the server that New started at " + o.place + ", and it was not stopped")
		}
	}, o)
}

// last is what the next process reports, if it finds files of the server.
func (o *origin) last() string {
	return fmt.Sprintf("process %d (%s) has ended, and the server that New started at %s was not stopped", os.Getpid(), filepath.Base(os.Args[0]), o.place)
}

func reportUnstopped(what string) {
	fmt.Fprintf(os.Stderr, "miniapitest: %s: call Stop when the tests have ended, or have Start or Main do it\n", what)
}
