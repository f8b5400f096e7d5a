package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/tuning"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
)

// Run runs a server until ctx ends, and calls ready when the server is ready. If ready returns an error, the server
// stops. If a signal has ended ctx, Run doesn't return the error of an interrupted start or of ready.
func (o *Options) Run(ctx context.Context, errOut io.Writer, ready func(context.Context, *server.Server) error) error {
	runtime := tuning.Start(os.Getenv)
	defer runtime.Stop()
	o.Server.WrapHandler = runtime.CountRequests
	s, err := o.buildUntil(ctx, errOut)
	if err != nil {
		return unlessSignalled(ctx, err)
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan error, 1)
	go func() { done <- s.Run(running) }()
	select {
	case err := <-done:
		return unlessSignalled(ctx, err)
	case <-s.Ready():
	}
	var readyErr error
	if running.Err() == nil {
		if readyErr = unlessSignalled(ctx, ready(running, s)); readyErr != nil {
			stop(readyErr)
		}
		runtime.Ready()
	}
	return errors.Join(readyErr, <-done)
}

// abandonAfter is the time that an embedded etcd has to close after a signal has interrupted the start. A start takes less
// time, unless it hangs, for example in the read of a pipe that a flag names.
const abandonAfter = 10 * time.Second

// buildUntil builds a server. With an external etcd, it returns as soon as ctx ends, because the client library waits
// for 20 seconds for an etcd that doesn't answer. With an embedded etcd, it returns abandonAfter later at the latest. The
// unfinished server is left behind, as the process is about to exit.
func (o *Options) buildUntil(ctx context.Context, errOut io.Writer) (*server.Server, error) {
	type result struct {
		server *server.Server
		err    error
	}
	built := make(chan result, 1)
	go func() {
		s, err := o.build(ctx, errOut)
		built <- result{s, err}
	}()
	select {
	case r := <-built:
		return r.server, r.err
	case <-ctx.Done():
	}
	var patience time.Duration
	if etcd.IsEmbedded(o.Server.Etcd) {
		patience = abandonAfter
	}
	select {
	case r := <-built:
		return r.server, r.err
	case <-time.After(patience):
		return nil, ctx.Err()
	}
}

// build builds a server from the options.
func (o *Options) build(ctx context.Context, errOut io.Writer) (*server.Server, error) {
	completed, err := o.Server.Complete()
	if err != nil {
		return nil, cli.UsageError{Err: err}
	}
	if err := recordMetrics(o.Server); err != nil {
		return nil, err
	}
	config, err := completed.Config(ctx)
	if err != nil {
		return nil, err
	}
	s, err := config.New(ctx)
	if err != nil {
		return nil, err
	}
	for _, warning := range completed.Warnings() {
		fmt.Fprintln(errOut, "Warning:", warning)
	}
	return s, nil
}
