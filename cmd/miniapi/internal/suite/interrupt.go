package suite

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilInterrupted returns a context that ends at the first SIGINT, SIGTERM or SIGHUP, so that a run of cases can remove
// its objects. A second SIGINT or SIGTERM ends the process at once.
//
// The kernel sends SIGHUP when the terminal is closed. A shell may send a second SIGHUP, which doesn't end the process.
// A process under nohup ignores each SIGHUP.
func UntilInterrupted(parent context.Context) (context.Context, context.CancelFunc) {
	interrupts := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP, so that the run goes on without its terminal
		interrupts = append(interrupts, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(parent, interrupts...)
	context.AfterFunc(ctx, func() {
		signal.Ignore(syscall.SIGHUP)
		stop()
	})
	return ctx, stop
}
