package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// newKubeAPIServerCommand stands in for the kube-apiserver binary: its flags, its
// defaults, and an etcd that somebody else runs.
func newKubeAPIServerCommand() *cobra.Command {
	o := newServerOptions(server.NewKubeAPIServerOptions())
	cmd := &cobra.Command{
		Use:   "kube-apiserver [flags]",
		Short: "Stand in for the kube-apiserver binary, flags and all",
		Long: `Stand in for the kube-apiserver binary: its flags and its defaults, over an etcd
that is already there. A link of the name kube-apiserver does the same.`,
		Args: usageArgs(flagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runKubeAPIServer(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cliflag.SetUsageAndHelpFunc(cmd, o.addTo(cmd, pflag.NewFlagSet("", pflag.ContinueOnError)), columns())
	return cmd
}

func runKubeAPIServer(parent context.Context, o serverOptions, out, errOut io.Writer) error {
	if o.version.writeTo(out) {
		return nil
	}
	if err := o.begin(errOut, errOut); err != nil {
		return err
	}
	if len(o.server.Etcd.StorageConfig.Transport.ServerList) == 0 {
		return usageError{errors.New("--etcd-servers must be specified")}
	}
	ctx, cancel := untilSignal(parent)
	defer cancel()
	return o.runServer(ctx, errOut, func(context.Context, *server.Server) error { return nil })
}
