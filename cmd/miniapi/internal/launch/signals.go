package launch

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// errSignal is the cause that a context of UntilSignal has after a signal.
var errSignal = errors.New("stopped by a signal")

// UntilSignal returns a context that ends at the first SIGINT or SIGTERM. A second signal ends the process at once.
func UntilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel(errSignal)
		case <-ctx.Done():
			signal.Stop(signals)
			return
		}
		<-signals
		os.Exit(cli.ExitFailed)
	}()
	return ctx, func() { cancel(nil) }
}

// unlessSignalled returns nil instead of err if a signal has ended ctx, because the user has stopped the server.
func unlessSignalled(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSignal) {
		return nil
	}
	return err
}
