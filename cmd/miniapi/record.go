package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/traceclient"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
	"github.com/miniapi-dev/miniapi/pkg/server/decisions"
	"github.com/miniapi-dev/miniapi/pkg/trace"
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
		Args: cli.UsageArgs(oneRecording),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	o.kubeconfig.AddFlag(flags)
	flags.StringVar(&o.object, "for", "", "Record requests for a `RESOURCE/NAME` alone, for a RESOURCE, or for a RESOURCE/NAMESPACE/NAME.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "Record requests in this namespace alone.")
	flags.StringVar(&o.user, "user", "", "Record requests of this user alone.")
	return cmd
}

// oneRecording checks the arguments of a command whose only argument is the folder of a recording.
func oneRecording(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("arguments %q: %s takes one argument, the folder of the recording, as in %[2]s testdata/reviews", args, cmd.CommandPath())
	}
	return nil
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
	writer, err := reviews.NewWriter(dir)
	if err != nil {
		return err
	}
	ctx, cancel := launch.UntilSignal(ctx)
	defer cancel()
	selection := traceclient.Selection{Object: object, User: o.user}
	begun := func() { fmt.Fprintf(out, "recording into %s until interrupted\n", cli.Quoted(dir)) }
	r := &recording{writer: writer, out: out, errOut: errOut}
	err = traceclient.New(server).Follow(ctx, selection, begun, func(event decisions.Event) error {
		if event.Missed > 0 {
			r.missed += event.Missed
			fmt.Fprintf(errOut, "Warning: the server forgot %d requests before they could be recorded: start the server with a larger --trace-requests and --trace-bytes\n", event.Missed)
		}
		if event.Request == nil {
			return nil
		}
		return r.record(event.Request)
	})
	return errors.Join(err, r.incomplete(dir))
}

// recording writes the files of reviews. It also writes the names of the files to out, and warnings to errOut.
type recording struct {
	writer      *reviews.Writer
	out, errOut io.Writer
	// missed is the number of requests that the server forgot before it could send them. stripped is the number of
	// requests whose reviews were too large for the server to keep.
	missed, stripped int64
	// redacted is true after the command has printed the warning that the server replaces secrets.
	redacted bool
}

// record writes the reviews of a request to files.
func (r *recording) record(request *trace.Request) error {
	if request.Stripped {
		r.stripped++
		fmt.Fprintf(r.errOut, "Warning: %s is too large to be recorded\n", request.Subject())
		return nil
	}
	for _, admission := range request.Admissions {
		for _, step := range admission.Steps {
			for _, webhook := range step.Webhooks {
				if webhook.Call == nil {
					continue
				}
				if len(webhook.Call.Request) == 0 || len(webhook.Call.Response) == 0 {
					fmt.Fprintf(r.errOut, "Warning: %s gave no AdmissionReview for %s, so none is recorded\n", webhook.Reference, request.Subject())
					continue
				}
				file, err := r.writer.Write(reviews.Exchange{
					Webhook: webhook.Reference.String(),
					Path:    pathOf(webhook.Call.Address),
					Request: webhook.Call.Request, Response: webhook.Call.Response,
				})
				if err != nil {
					return fmt.Errorf("recording the review of %s for %s: %w", webhook.Reference, request.Subject(), err)
				}
				if file != "" {
					fmt.Fprintln(r.out, file)
				}
				if !r.redacted && bytes.Contains(webhook.Call.Request, []byte(trace.Redacted)) {
					r.redacted = true
					fmt.Fprintf(r.errOut, "Warning: secret values are %s in the files: a server with --trace-secrets keeps them\n", trace.Redacted)
				}
			}
		}
	}
	return nil
}

// incomplete returns an error if the recording in dir lacks requests, or nil. The error says how many the recording lacks,
// and which flags of the server avoid that.
func (r *recording) incomplete(dir string) error {
	var errs []error
	if r.missed > 0 {
		errs = append(errs, fmt.Errorf("the recording in %s is incomplete: the server forgot %d requests before they could be recorded, "+
			"some of which may have been selected: start the server with a larger --trace-requests and --trace-bytes", cli.Quoted(dir), r.missed))
	}
	if r.stripped > 0 {
		errs = append(errs, fmt.Errorf("the recording in %s is incomplete: the reviews of %d requests were too large for the server to keep: "+
			"start the server with a larger --trace-bytes", cli.Quoted(dir), r.stripped))
	}
	return errors.Join(errs...)
}

// pathOf returns the path in a webhook's address. The address is a URL, or the name of a service, a blank and a path.
func pathOf(address string) string {
	if service, ok := strings.CutPrefix(address, "service "); ok {
		_, path, _ := strings.Cut(service, " ")
		return path
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Path
}
