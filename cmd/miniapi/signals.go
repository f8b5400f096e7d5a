package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errSignal is why a context of untilSignal ends.
var errSignal = errors.New("asked to stop by a signal")

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. The
// second ends the process at once.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
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
		os.Exit(exitFailed)
	}()
	return ctx, func() { cancel(nil) }
}

// unlessSignalled drops the error of what a signal has interrupted: to stop is what was
// asked for.
func unlessSignalled(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSignal) {
		return nil
	}
	return err
}
