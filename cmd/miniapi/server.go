package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/server/flagz"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// serverOptions are what the commands that run a server have in common.
type serverOptions struct {
	server  *server.Options
	logs    *logs.Options
	inert   *inertFlags
	version *versionFlag
	// logRequests writes a line for each request.
	logRequests *bool
}

func newServerOptions(options *server.Options) serverOptions {
	return serverOptions{server: options, logs: logs.NewOptions(), inert: &inertFlags{}, version: new(versionFlag), logRequests: new(bool)}
}

// addTo adds the command's own flags, the server's, and those of kube-apiserver that mean nothing here. It returns
// the sections that help has of them.
func (o serverOptions) addTo(cmd *cobra.Command, own *pflag.FlagSet) cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	sections.FlagSet(server.OwnFlags).AddFlagSet(own)
	sections.FlagSet(server.OwnFlags).BoolVar(o.logRequests, "log-requests", false, "Write a line for each request to standard error, when it is answered.")
	o.server.AddFlags(&sections)
	logsapi.AddFlags(o.logs, sections.FlagSet("logs"))
	sections.FlagSet("global").VarPF(o.version, "version", "", "Print the version and exit; raw for all of it.").NoOptDefVal = "true"
	for _, fs := range sections.FlagSets {
		cmd.Flags().AddFlagSet(fs)
	}
	o.inert.addTo(cmd.Flags())
	gates := cmd.Flags().Lookup("feature-gates")
	gates.Value = &lenientGates{gates.Value, o.inert, o.server}
	o.server.Flagz = flagz.NamedFlagSetsReader{FlagSets: sections}
	cmd.SetFlagErrorFunc(flagError)
	cmd.DisableFlagsInUseLine = true
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	completeFiles(cmd.Flags())
	return sections
}

// begin is the first step of a command: its warnings, and where its log goes.
func (o serverOptions) begin(errOut, log io.Writer) error {
	dropKubeAPIs(o.server.APIs.RuntimeConfig, o.inert)
	o.inert.warn(errOut)
	if *o.logRequests {
		o.server.LogRequest = requestLog(o.logs, errOut)
	}
	return applyLogs(o.logs, log)
}

// runServer runs a server until ctx ends, and calls ready when it is. If that fails,
// the server is stopped. A signal before that is no failure, whatever it interrupts.
func (o serverOptions) runServer(ctx context.Context, errOut io.Writer, ready func(context.Context, *server.Server) error) error {
	memory := newMemory(os.Getenv)
	defer memory.release()
	processors := newProcessors(os.Getenv)
	o.server.WrapHandler = processors.handler
	o.server.Yield = newCourtesy().yield
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
		memory.settle()
		processors.regulate()
	}
	return errors.Join(readyErr, <-done)
}

// buildUntil builds a server, but doesn't wait for an etcd elsewhere once ctx has ended: one that stops to
// answer keeps the library for 20 seconds. What has been built of the server then ends with the process.
func (o serverOptions) buildUntil(ctx context.Context, errOut io.Writer) (*server.Server, error) {
	type result struct {
		server *server.Server
		err    error
	}
	built := make(chan result, 1)
	go func() {
		s, err := o.build(ctx, errOut)
		built <- result{s, err}
	}()
	abandon := ctx.Done()
	if len(o.server.Etcd.StorageConfig.Transport.ServerList) == 0 {
		abandon = nil // an embedded etcd is to be closed
	}
	select {
	case r := <-built:
		return r.server, r.err
	case <-abandon:
		return nil, ctx.Err()
	}
}

// build takes options to a server that can run.
func (o serverOptions) build(ctx context.Context, errOut io.Writer) (*server.Server, error) {
	completed, err := o.server.Complete()
	if err != nil {
		return nil, usageError{err}
	}
	if err := recordMetrics(o.server); err != nil {
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
