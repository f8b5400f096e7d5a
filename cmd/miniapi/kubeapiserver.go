package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
)

// newKubeAPIServerCommand returns the command that replaces the program kube-apiserver: it has the flags and the
// defaults of kube-apiserver, and needs a running etcd.
func newKubeAPIServerCommand() *cobra.Command {
	o := launch.NewOptions(server.NewKubeAPIServerOptions())
	cmd := &cobra.Command{
		Use:   "kube-apiserver [flags]",
		Short: "Stand in for the kube-apiserver binary, flags and all",
		Long: `Stand in for the kube-apiserver binary: its flags and its defaults, over an etcd
that runs already. A link with the name kube-apiserver does the same.`,
		Args: cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runKubeAPIServer(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cliflag.SetUsageAndHelpFunc(cmd, o.AddFlags(cmd, pflag.NewFlagSet("", pflag.ContinueOnError)), cli.Columns())
	return cmd
}

func runKubeAPIServer(parent context.Context, o *launch.Options, out, errOut io.Writer) error {
	if o.PrintVersion(out) {
		return nil
	}
	if err := o.Begin(errOut, errOut); err != nil {
		return err
	}
	if etcd.IsEmbedded(o.Server.Etcd) {
		return cli.UsageError{Err: errors.New("--etcd-servers must be specified, for example http://127.0.0.1:2379; \"miniapi serve\" has an etcd of its own")}
	}
	ctx, cancel := launch.UntilSignal(parent)
	defer cancel()
	return o.Run(ctx, errOut, func(context.Context, *server.Server) error { return nil })
}
