package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/complete"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/recording"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/traceclient"
)

// recordOptions are the flags of "miniapi record".
type recordOptions struct {
	kubeconfig kubeconfig.Source
	object     string
	namespace  string
	user       string
}

func newRecordCommand() *cobra.Command {
	o := &recordOptions{}
	cmd := &cobra.Command{
		Use:   "record DIR [flags]",
		Short: "Record the reviews that a running server sends to webhooks",
		Long: `Record the AdmissionReviews that a running server sends to webhooks, and the responses, until
the command is interrupted. Each pair becomes a file, without what differs from run to run, so
the folder can be kept in git. "miniapi replay" and the Go package reviews/replay send them again.
Contents of Secrets and tokens are replaced, unless the server runs with --trace-secrets.`,
		Example: `  miniapi record testdata/reviews
  miniapi record testdata/reviews --for pods`,
		Args: cli.UsageArgs(recording.OneFolder),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	o.kubeconfig.AddFlags(cmd, flags)
	flags.StringVar(&o.object, "for", "", "Record requests for a `RESOURCE/NAME` alone, for a RESOURCE, or for a RESOURCE/NAMESPACE/NAME.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "Record requests in this `NAMESPACE` alone.")
	flags.StringVar(&o.user, "user", "", "Record requests of this `USER` alone.")
	// RegisterFlagCompletionFunc fails only for unknown flags.
	_ = cmd.RegisterFlagCompletionFunc("for", complete.Object(&o.kubeconfig, &o.namespace, true))
	return cmd
}

func (o *recordOptions) run(ctx context.Context, dir string, out, errOut io.Writer) error {
	object, err := traceclient.ParseObject(o.object, o.namespace)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--for %q: %w", o.object, err)}
	}
	server, err := o.kubeconfig.Server()
	if err != nil {
		return err
	}
	client := traceclient.New(server)
	if object, err = client.Resolve(object); err != nil {
		return cli.UsageError{Err: fmt.Errorf("--for %q: %w", o.object, err)}
	}
	r, err := recording.New(dir, out, errOut)
	if err != nil {
		return err
	}
	ctx, cancel := launch.UntilSignal(ctx)
	defer cancel()
	selection := traceclient.Selection{Object: object, User: o.user}
	begun := func() { fmt.Fprintf(out, "recording into %s until interrupted\n", cli.Quoted(dir)) }
	err = client.Follow(ctx, selection, begun, r.Record)
	return errors.Join(err, r.Incomplete())
}
