package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/recording"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/trust"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews/replay"
)

// replayOptions are the flags of "miniapi replay".
type replayOptions struct {
	url    string
	update bool
	trust  trust.Options
}

func newReplayCommand() *cobra.Command {
	o := &replayOptions{}
	cmd := &cobra.Command{
		Use:   "replay DIR --url URL [flags]",
		Short: "Send recorded reviews to a webhook, and compare the responses",
		Long: `Send the reviews of a folder that "miniapi record" has written to a webhook, and compare the
responses with the recorded ones. The exit code is 1 if one is different. Patches are the same if
they make the same object. No server is needed.`,
		Example: `  miniapi replay testdata/reviews --url https://localhost:9443 --ca certs/ca.crt`,
		Args:    cli.UsageArgs(recording.OneFolder),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.url, "url", "", "`URL` of the webhook. Without a path, each review goes to the path of its recording.")
	flags.BoolVar(&o.update, "update", false, "Write the new responses into the files.")
	o.trust.AddFlags(flags)
	return cmd
}

func (o *replayOptions) run(ctx context.Context, dir string, out io.Writer) error {
	if o.url == "" {
		return cli.UsageError{Err: errors.New("--url must name the webhook, as in https://localhost:9443/mutate")}
	}
	client, err := o.trust.Client()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	target, err := replay.ToURL(client, o.url)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--url %w", err)}
	}
	results, err := replay.Run(ctx, dir, target, o.update)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.UsageError{Err: fmt.Errorf("argument %q: must be a folder that \"miniapi record\" has written: %w", dir, err)}
	}
	if err != nil {
		return o.trust.Explain(err)
	}
	different := 0
	for _, r := range results {
		switch {
		case r.Updated:
			fmt.Fprintf(out, "%s: updated\n", r.File.Name)
		case r.Diff != "":
			different++
			fmt.Fprintf(out, "%s: different (-recorded +got):\n%s", r.File.Name, r.Diff)
		default:
			fmt.Fprintf(out, "%s: same\n", r.File.Name)
		}
	}
	if different > 0 {
		return fmt.Errorf("%d of %d responses are different: --update writes them into the files", different, len(results))
	}
	return nil
}
