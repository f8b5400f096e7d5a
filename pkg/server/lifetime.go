package server

import (
	"context"
	"slices"
	"sync"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// lifetime holds the contexts of a server, and the functions that end its parts. A constructor of a part adds the end of
// the part, so close ends exactly the parts that exist, however far a start has come.
type lifetime struct {
	// life ends after the last request of the server, or when the start fails.
	life context.Context
	end  context.CancelFunc
	// following is the context of informers. It ends when a stop begins.
	following context.Context
	unfollow  context.CancelFunc
	// reloads are the goroutines that follow configuration files.
	reloads sync.WaitGroup

	interrupts []func() error
	ends       []func(context.Context) error
}

// newLifetime returns a lifetime that has the values of ctx and doesn't end with it.
func newLifetime(ctx context.Context) *lifetime {
	l := &lifetime{}
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	l.following, l.unfollow = context.WithCancel(l.life)
	return l
}

// interrupt adds a function that closes connections. close calls it before it waits for any part, so that no part waits
// for a connection.
func (l *lifetime) interrupt(f func() error) { l.interrupts = append(l.interrupts, f) }

// atEnd adds a function that ends a part, and returns when the part has ended. close calls these functions in reverse
// order: a part ends before the parts that it was made of.
func (l *lifetime) atEnd(f func(context.Context) error) { l.ends = append(l.ends, f) }

// waitFor adds a function that returns when a part has ended. The end of the context life ends the part.
func (l *lifetime) waitFor(f func()) {
	l.atEnd(func(context.Context) error {
		f()
		return nil
	})
}

// follow applies a configuration file again whenever it changes, until a stop begins. A nil file is allowed.
func (l *lifetime) follow(file *reload.File) {
	if file != nil {
		l.reloads.Go(func() { file.Follow(l.following) })
	}
}

// close ends all parts.
func (l *lifetime) close(ctx context.Context) error {
	l.end()
	var errs []error
	for _, interrupt := range l.interrupts {
		errs = append(errs, interrupt())
	}
	l.reloads.Wait()
	for _, end := range slices.Backward(l.ends) {
		errs = append(errs, end(ctx))
	}
	return utilerrors.NewAggregate(errs)
}
