package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/recording"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/trust"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews/replay"
)

// replayOptions are the flags of "miniapi replay".
type replayOptions struct {
	url    string
	update bool
	output output.Format
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
	o.output.AddFlag(cmd, "Format of the results: json or yaml.", output.JSON, output.YAML)
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
	replayed, different := make([]replayedFile, len(results)), 0
	for i, r := range results {
		replayed[i] = replayedFile{File: r.File.Name, Result: "same", Diff: r.Diff}
		switch {
		case r.Updated:
			replayed[i].Result = "updated"
		case r.Diff != "":
			replayed[i].Result = "different"
			different++
		}
	}
	if err := o.output.Print(out, replayed, func(out io.Writer) error { return printReplayed(out, replayed) }); err != nil {
		return err
	}
	if different > 0 {
		return fmt.Errorf("%d of %d responses are different: --update writes them into the files", different, len(results))
	}
	return nil
}

// replayedFile is the result for one file of a recording.
type replayedFile struct {
	File string `json:"file"`
	// Result is same, different or updated.
	Result string `json:"result"`
	Diff   string `json:"diff,omitempty"`
}

// printReplayed prints a line for each file, and the difference of a response that isn't the recorded one.
func printReplayed(out io.Writer, files []replayedFile) error {
	for _, f := range files {
		text := fmt.Sprintf("%s: %s\n", f.File, f.Result)
		if f.Result == "different" {
			text = fmt.Sprintf("%s: different (-recorded +got):\n%s", f.File, f.Diff)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}
