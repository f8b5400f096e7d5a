package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apiwait "k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
)

// waitOptions are the flags of "miniapi wait".
type waitOptions struct {
	kubeconfig kubeconfig.Source
	timeout    time.Duration
}

func newWaitCommand() *cobra.Command {
	o := &waitOptions{}
	cmd := &cobra.Command{
		Use:   "wait",
		Short: "Wait until a server is ready",
		Long: `Wait until the server of a kubeconfig is ready. The server may also be one that hasn't written the
kubeconfig yet.`,
		Example: `  miniapi serve --write-kubeconfig test.kubeconfig &
  miniapi wait --kubeconfig test.kubeconfig`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.kubeconfig.AddFlags(cmd, cmd.Flags())
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "Fail after this `DURATION`.")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// readyPeriod is the time between two questions whether the server is ready.
const readyPeriod = 50 * time.Millisecond

func (o *waitOptions) run(ctx context.Context, out io.Writer) error {
	if o.timeout <= 0 {
		return cli.UsageError{Err: fmt.Errorf("--timeout %s: must be more than 0", o.timeout)}
	}
	var host string
	var last error
	if err := apiwait.PollUntilContextTimeout(ctx, readyPeriod, o.timeout, true, func(ctx context.Context) (bool, error) {
		host, last = o.ready(ctx)
		return last == nil, nil
	}); err != nil {
		return fmt.Errorf("no server is ready after %s: %w", o.timeout, last)
	}
	_, err := fmt.Fprintf(out, "miniapi is ready on %s\n", host)
	return err
}

// ready returns the address of the kubeconfig's server, and an error if the server isn't ready.
func (o *waitOptions) ready(ctx context.Context) (string, error) {
	server, err := o.kubeconfig.Server()
	if err != nil {
		return "", err
	}
	return server.Host, o.kubeconfig.Explained(server.Client.Get().AbsPath("/readyz").Do(ctx).Error())
}
