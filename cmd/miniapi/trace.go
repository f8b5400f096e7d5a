package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/complete"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/traceclient"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// traceOptions are the flags of "miniapi trace".
type traceOptions struct {
	kubeconfig kubeconfig.Source
	namespace  string
	follow     bool
	open       bool
	object     string
	user       string
	limit      int
	output     output.Format
}

// wide is the value of --output for a timeline with all details.
const wide = "wide"

// lastRequests is the default of --limit.
const lastRequests = 20

func newTraceCommand() *cobra.Command {
	o := &traceOptions{}
	cmd := &cobra.Command{
		Use:   "trace [flags]",
		Short: "Show what happened to requests in admission",
		Long: `Show what happened to requests in admission: the plugins, policies and webhooks that considered
a request, in order and by round, why each of them matched or not, and what each changed.

The server remembers requests with --trace-requests N. Without this flag of the server,
requests are recorded while "miniapi trace --follow" runs.

    miniapi trace --follow
    miniapi trace --for pods/web -o wide
    miniapi trace --open
    miniapi trace why ValidatingWebhookConfiguration/my-webhook pods/web`,
		Args: cli.UsageArgs(cli.KnownSubcommand),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	persistent := cmd.PersistentFlags()
	o.kubeconfig.AddFlags(cmd, persistent)
	persistent.StringVarP(&o.namespace, "namespace", "n", "", "`NAMESPACE` of the object. By default, all namespaces, and for \"why\" that of the kubeconfig.")
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "Show requests from now on, as they end.")
	flags.StringVar(&o.object, "for", "", "Show requests for a `RESOURCE/NAME` alone, for a RESOURCE, or for a RESOURCE/NAMESPACE/NAME.")
	flags.StringVar(&o.user, "user", "", "Show requests of this `USER` alone.")
	flags.IntVar(&o.limit, "limit", lastRequests, "Show at most `N` of the last requests; 0 shows all.")
	o.output.AddFlag(cmd, "Format: wide has all plugins, the parts of the time of calls, and more; json and yaml have everything.", wide, output.JSON, output.YAML)
	flags.BoolVar(&o.open, "open", false, "Open the server's page about requests in a browser. Its link signs the browser in once, as the kubeconfig's user.")
	// RegisterFlagCompletionFunc fails only for unknown flags.
	_ = cmd.RegisterFlagCompletionFunc("for", complete.Object(&o.kubeconfig, &o.namespace, true))
	cmd.AddCommand(newTraceWhyCommand(o))
	return cmd
}

func (o *traceOptions) run(ctx context.Context, out, errOut io.Writer) error {
	if o.limit < 0 {
		return cli.UsageError{Err: fmt.Errorf("--limit %d: must be at least 0", o.limit)}
	}
	object, err := traceclient.ParseObject(o.object, o.namespace)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--for %q: %w", o.object, err)}
	}
	server, err := o.kubeconfig.Server()
	if err != nil {
		return err
	}
	client := traceclient.New(server)
	if o.open {
		return openPage(ctx, client, out)
	}
	object, unserved := client.Resolve(object)
	if unserved != nil {
		unserved = cli.UsageError{Err: fmt.Errorf("--for %q: %w", o.object, unserved)}
	}
	selection := traceclient.Selection{Object: object, User: o.user}
	if o.follow {
		if unserved != nil {
			return unserved
		}
		return o.stream(ctx, client, selection, out)
	}
	list, err := client.Recorded(ctx, selection, o.limit)
	if err != nil {
		return err
	}
	if unserved != nil && len(list.Requests) == 0 {
		return unserved
	}
	if !list.Recording {
		return fmt.Errorf("the server %s of kubeconfig %s records no requests: start the server with --trace-requests=100, or print requests as they end with --follow", server.Host, server.Name)
	}
	if len(list.Requests) == 0 {
		fmt.Fprintln(errOut, "No recorded request matches: only writes and connections reach admission.")
	}
	return o.show(out, list.Requests)
}

// show prints recorded requests in the format of the flags.
func (o *traceOptions) show(out io.Writer, requests []*trace.Request) error {
	for _, request := range requests {
		if err := o.showOne(out, request); err != nil {
			return err
		}
	}
	return nil
}

func (o *traceOptions) showOne(out io.Writer, request *trace.Request) error {
	var text []byte
	var err error
	switch o.output.Name {
	case output.JSON:
		text, err = json.Marshal(request)
		text = append(text, '\n')
	case output.YAML:
		text, err = yaml.Marshal(request)
		text = append([]byte("---\n"), text...)
	default:
		detail := trace.Brief
		if o.output.Name == wide {
			detail = trace.Wide
		}
		return trace.WriteTimeline(out, request, detail)
	}
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// stream prints requests as they end, until a signal ends the command or the server stops.
func (o *traceOptions) stream(ctx context.Context, client *traceclient.Client, selection traceclient.Selection, out io.Writer) error {
	ctx, cancel := launch.UntilSignal(ctx)
	defer cancel()
	return client.Follow(ctx, selection, func() {}, func(event admissiontrace.Event) error {
		if event.Missed > 0 {
			fmt.Fprintf(out, "(%d requests were forgotten before they could be shown: start the server with a larger --trace-requests and --trace-bytes)\n", event.Missed)
		}
		if event.Request == nil {
			return nil
		}
		return o.showOne(out, event.Request)
	})
}

// openPage prints a link to the server's page about requests, and opens the link in the user's browser.
func openPage(ctx context.Context, client *traceclient.Client, out io.Writer) error {
	link, seconds, err := client.SignIn(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nThe link works once, within %d seconds.\n", link, seconds)
	if err := openInBrowser(ctx, link); err != nil {
		fmt.Fprintf(out, "%v: open it in a browser.\n", err)
	}
	return nil
}
