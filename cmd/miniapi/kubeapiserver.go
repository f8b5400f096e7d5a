package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// newKubeAPIServerCommand stands in for the kube-apiserver binary: its flags, its
// defaults, and an etcd that somebody else runs.
func newKubeAPIServerCommand() *cobra.Command {
	options := server.NewKubeAPIServerOptions()
	logOptions := logs.NewOptions()
	var inert *inertFlags
	cmd := &cobra.Command{
		Use:   "kube-apiserver FLAGS",
		Short: "Stand in for the kube-apiserver binary, flags and all",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runKubeAPIServer(cmd.Context(), options, logOptions, inert, cmd.ErrOrStderr())
		},
	}
	inert = addServerFlags(cmd, pflag.NewFlagSet("", pflag.ContinueOnError), options, logOptions)
	return cmd
}

func runKubeAPIServer(parent context.Context, options *server.Options, logOptions *logs.Options, inert *inertFlags, errOut io.Writer) error {
	inert.warn(errOut)
	if err := applyLogs(logOptions); err != nil {
		return err
	}
	if len(options.Etcd.StorageConfig.Transport.ServerList) == 0 {
		return usageError{fmt.Errorf("--etcd-servers must be specified")}
	}
	ctx, cancel := untilSignal(parent)
	defer cancel()
	s, err := build(ctx, options)
	if err != nil {
		return err
	}
	return runServer(ctx, s, func(context.Context) error { return nil })
}
