package launch

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// errSignal is the cause of a context that UntilSignal ended.
var errSignal = errors.New("asked to stop by a signal")

// UntilSignal returns a context that ends with the first SIGINT or SIGTERM. The second signal ends the process at once.
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

// unlessSignalled drops the error of an operation that a signal interrupted: the user asked for the stop.
func unlessSignalled(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSignal) {
		return nil
	}
	return err
}
