// Package recording writes the reviews of recorded requests to a folder, and prints the names of the files, and
// warnings about missing reviews. [New] is the way in. Don't use the package to read a recording: the package
// pkg/miniapitest/reviews reads it, and reviews/replay sends the reviews to a webhook.
package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// OneFolder checks the arguments of a command whose only argument is the folder of a recording.
func OneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("arguments %q: %s takes one argument, the folder of the recording, as in %[2]s testdata/reviews", args, cmd.CommandPath())
	}
	return nil
}

// Recording writes the files of reviews. It also writes the names of the files to out, and warnings to errOut.
type Recording struct {
	dir         string
	writer      *reviews.Writer
	out, errOut io.Writer
	// missed is the number of requests that the server forgot before it could send them. stripped is the number of
	// requests whose reviews were too large for the server to keep.
	missed, stripped int64
	// redacted is true after the command has printed the warning that the server replaces secrets.
	redacted bool
}

// New returns a recording that writes to the folder dir, and makes the folder if it doesn't exist.
func New(dir string, out, errOut io.Writer) (*Recording, error) {
	writer, err := reviews.NewWriter(dir)
	if err != nil {
		return nil, err
	}
	return &Recording{dir: dir, writer: writer, out: out, errOut: errOut}, nil
}

// Record writes the reviews of the event's request to files, and counts the requests that the event says are missing.
func (r *Recording) Record(event admissiontrace.Event) error {
	if event.Missed > 0 {
		r.missed += event.Missed
		fmt.Fprintf(r.errOut, "Warning: the server forgot %d requests before they could be recorded: start the server with a larger --trace-requests and --trace-bytes\n", event.Missed)
	}
	if event.Request == nil {
		return nil
	}
	return r.record(event.Request)
}

// record writes the reviews of a request to files.
func (r *Recording) record(request *trace.Request) error {
	if request.Stripped {
		r.stripped++
		fmt.Fprintf(r.errOut, "Warning: %s is too large to be recorded\n", request.Subject())
		return nil
	}
	for _, admission := range request.Admissions {
		for _, step := range admission.Steps {
			for _, webhook := range step.Webhooks {
				if err := r.write(request, webhook); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// write writes the review that a webhook got for a request, if the server called the webhook.
func (r *Recording) write(request *trace.Request, webhook *trace.Webhook) error {
	call := webhook.Call
	if call == nil {
		return nil
	}
	if len(call.Request) == 0 || len(call.Response) == 0 {
		fmt.Fprintf(r.errOut, "Warning: %s gave no AdmissionReview for %s, so none is recorded\n", webhook.Reference, request.Subject())
		return nil
	}
	file, err := r.writer.Write(reviews.Exchange{
		Webhook: webhook.Reference.String(), Path: pathOf(call.Address), Request: call.Request, Response: call.Response,
	})
	if err != nil {
		return fmt.Errorf("recording the review of %s for %s: %w", webhook.Reference, request.Subject(), err)
	}
	if file != "" {
		fmt.Fprintln(r.out, file)
	}
	if !r.redacted && bytes.Contains(call.Request, []byte(trace.Redacted)) {
		r.redacted = true
		fmt.Fprintf(r.errOut, "Warning: secret values are %s in the files: a server with --trace-secrets keeps them\n", trace.Redacted)
	}
	return nil
}

// Incomplete returns an error if the recording lacks requests, or nil. The error says how many the recording lacks, and
// which flags of the server avoid that.
func (r *Recording) Incomplete() error {
	var errs []error
	if r.missed > 0 {
		errs = append(errs, fmt.Errorf("the recording in %s is incomplete: the server forgot %d requests before they could be recorded, "+
			"some of which may have been selected: start the server with a larger --trace-requests and --trace-bytes", cli.Quoted(r.dir), r.missed))
	}
	if r.stripped > 0 {
		errs = append(errs, fmt.Errorf("the recording in %s is incomplete: the reviews of %d requests were too large for the server to keep: "+
			"start the server with a larger --trace-bytes", cli.Quoted(r.dir), r.stripped))
	}
	return errors.Join(errs...)
}

// pathOf returns the path in a webhook's address. The address is a URL, or has the form "service NAME PATH". If the
// address is neither, the path is "".
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
