package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"

	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// serveOptions are the server's, and what this command adds to them.
type serveOptions struct {
	server     *server.Options
	logs       *logs.Options
	kubeconfig string
	apply      []string
	inert      *inertFlags
}

func newServeCommand() *cobra.Command {
	o := &serveOptions{server: server.NewOptions(), logs: logs.NewOptions()}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a Kubernetes API over an embedded etcd",
		Long: `Serve a Kubernetes API on 127.0.0.1:6443 over an embedded etcd.

It writes a kubeconfig for the admin, and prints one line when it is ready. Flags
have kube-apiserver's names wherever miniapi has the feature.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	own := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	own.StringVar(&o.kubeconfig, "write-kubeconfig", "miniapi.kubeconfig", "Where the admin's kubeconfig is written.")
	own.StringArrayVar(&o.apply, "apply", nil, "File or folder of manifests to apply, in order, before the server says that it is ready. May be repeated.")
	o.inert = addServerFlags(cmd, own, o.server, o.logs)
	return cmd
}

// addServerFlags adds the command's own flags, the server's by section, and those of
// kube-apiserver that mean nothing here.
func addServerFlags(cmd *cobra.Command, own *pflag.FlagSet, options *server.Options, logOptions *logs.Options) *inertFlags {
	var sections cliflag.NamedFlagSets
	sections.FlagSet(cmd.Name()).AddFlagSet(own)
	options.AddFlags(&sections)
	logsapi.AddFlags(logOptions, sections.FlagSet("logs"))
	for _, fs := range sections.FlagSets {
		cmd.Flags().AddFlagSet(fs)
	}
	inert := &inertFlags{}
	inert.addTo(cmd.Flags())
	lenient(cmd.Flags().Lookup("feature-gates"), inert)
	cmd.SetFlagErrorFunc(flagError)
	width, _, _ := term.TerminalSize(os.Stdout)
	cliflag.SetUsageAndHelpFunc(cmd, sections, width)
	return inert
}

// applyLogs sets up this process's logging.
func applyLogs(o *logs.Options) error {
	if err := logsapi.ValidateAndApply(o, utilfeature.DefaultFeatureGate); err != nil {
		return usageError{err}
	}
	return nil
}

func (o *serveOptions) run(parent context.Context, out, errOut io.Writer) error {
	o.inert.warn(errOut)
	if err := applyLogs(o.logs); err != nil {
		return err
	}
	objects, err := manifests.Load(o.apply...)
	if err != nil {
		return usageError{fmt.Errorf("--apply: %w", err)}
	}
	ctx, cancel := untilSignal(parent)
	defer cancel()
	s, err := build(ctx, o.server)
	if err != nil {
		return err
	}
	return runServer(ctx, s, func(ctx context.Context) error {
		if err := clientcmd.WriteToFile(*s.Kubeconfig(), o.kubeconfig); err != nil {
			return fmt.Errorf("--write-kubeconfig %s: %w", o.kubeconfig, err)
		}
		if err := manifests.Apply(ctx, s.AdminConfig(), objects); err != nil {
			return fmt.Errorf("--apply: %w", err)
		}
		_, err := fmt.Fprintf(out, "miniapi is ready on https://%s: export KUBECONFIG=%s\n", s.Address(), o.kubeconfig)
		return err
	})
}

// build takes options to a server that can run.
func build(ctx context.Context, options *server.Options) (*server.Server, error) {
	completed, err := options.Complete()
	if err != nil {
		return nil, usageError{err}
	}
	config, err := completed.Config(ctx)
	if err != nil {
		return nil, err
	}
	return config.New(ctx)
}

// runServer runs the server until ctx ends, and calls ready when it is. If that fails,
// the server is stopped.
func runServer(ctx context.Context, s *server.Server, ready func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var readyErr error
	select {
	case err := <-done:
		return err
	case <-s.Ready():
		if readyErr = ready(ctx); readyErr != nil {
			stop(readyErr)
		}
	}
	return errors.Join(readyErr, <-done)
}
