package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/pkg/server/decisions"
	"github.com/miniapi-dev/miniapi/pkg/trace"
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
	output     string
}

// traceOutputs are the values of --output. The value "" prints a timeline.
var traceOutputs = []string{"", "wide", "json", "yaml"}

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
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	persistent := cmd.PersistentFlags()
	o.kubeconfig.AddFlag(persistent)
	persistent.StringVarP(&o.namespace, "namespace", "n", "", "Namespace of the object. By default, all namespaces, and for \"why\" that of the kubeconfig.")
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "Show requests from now on, as they end.")
	flags.StringVar(&o.object, "for", "", "Show requests for a `RESOURCE/NAME` alone, for a RESOURCE, or for a RESOURCE/NAMESPACE/NAME.")
	flags.StringVar(&o.user, "user", "", "Show requests of this user alone.")
	flags.IntVar(&o.limit, "limit", lastRequests, "Show at most this many of the last requests; 0 shows all.")
	flags.StringVarP(&o.output, "output", "o", "", "Format: wide has all plugins, the parts of the time of calls, and more; json and yaml have everything.")
	flags.BoolVar(&o.open, "open", false, "Open the server's page about requests in a browser. Its link signs the browser in once, as the kubeconfig's user.")
	cmd.AddCommand(newTraceWhyCommand(o))
	return cmd
}

func (o *traceOptions) run(ctx context.Context, out io.Writer) error {
	if !slices.Contains(traceOutputs, o.output) {
		return cli.UsageError{Err: fmt.Errorf("--output %q: must be wide, json or yaml", o.output)}
	}
	if o.limit < 0 {
		return cli.UsageError{Err: fmt.Errorf("--limit %d: must be at least 0", o.limit)}
	}
	object, err := parseObject(o.object, o.namespace)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--for %q: %w", o.object, err)}
	}
	server, err := o.kubeconfig.Server()
	if err != nil {
		return err
	}
	if o.open {
		return openPage(ctx, server, out)
	}
	object.expand(server.Client)
	request := object.parameters(server.Client.Get().AbsPath(decisions.RequestsPath)).Param("user", o.user)
	if o.follow {
		return o.stream(ctx, server, request.Param("follow", "true"), out)
	}
	if o.limit > 0 {
		request.Param("limit", strconv.Itoa(o.limit))
	}
	var list decisions.List
	if err := ask(ctx, server, request, &list); err != nil {
		return err
	}
	if !list.Recording {
		return fmt.Errorf("the server %s of kubeconfig %s records no requests: start the server with --trace-requests=100, or print requests as they end with --follow", server.Host, server.Name)
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
	switch o.output {
	case "json":
		text, err = json.Marshal(request)
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(request)
		text = append([]byte("---\n"), text...)
	default:
		detail := trace.Brief
		if o.output == "wide" {
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
func (o *traceOptions) stream(ctx context.Context, server *kubeconfig.Server, request *rest.Request, out io.Writer) error {
	ctx, cancel := launch.UntilSignal(ctx)
	defer cancel()
	return followed(ctx, server, request, func() {}, func(event decisions.Event) error {
		if event.Missed > 0 {
			fmt.Fprintf(out, "(%d requests were forgotten before they could be shown)\n", event.Missed)
		}
		if event.Request == nil {
			return nil
		}
		return o.showOne(out, event.Request)
	})
}

// followed opens a stream of events, which have the requests that the server records. It calls begun when the server
// has answered, and each for every event. It returns when the context ends, when the server stops, or after an error.
func followed(ctx context.Context, server *kubeconfig.Server, request *rest.Request, begun func(), each func(decisions.Event) error) error {
	body, err := request.Stream(ctx)
	if err != nil {
		return explained(server, err)
	}
	defer body.Close()
	begun()
	decoder := json.NewDecoder(bufio.NewReader(body))
	for {
		var event decisions.Event
		switch err := decoder.Decode(&event); {
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			return nil
		case errors.As(err, new(*json.SyntaxError)):
			return server.Wrap(notTrace(err))
		case errors.Is(err, io.ErrUnexpectedEOF):
			return server.Wrap(errors.New("the connection to the server broke off: run the command again when the server runs"))
		default:
			return server.Wrap(err)
		}
		if err := each(event); err != nil {
			return err
		}
	}
}

// ask sends a request to a server, and decodes the answer.
func ask(ctx context.Context, server *kubeconfig.Server, request *rest.Request, into any) error {
	answer := request.Do(ctx)
	if err := answer.Error(); err != nil { // Error has the server's message, and the error of Raw lacks the message
		return explained(server, err)
	}
	body, err := answer.Raw()
	if err != nil {
		return server.Wrap(err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return server.Wrap(notTrace(err))
	}
	return nil
}

// notTrace returns the error about a response that can't be decoded.
func notTrace(err error) error {
	return fmt.Errorf("the response isn't a trace: the server isn't miniapi, or is another version: %w", err)
}

// explained adds the server's address to an error. If the server has no path for traces, the new error says that the
// server isn't miniapi, or is an older version.
func explained(server *kubeconfig.Server, err error) error {
	if apierrors.IsNotFound(err) && !strings.Contains(err.Error(), " not found") {
		return fmt.Errorf("%s of kubeconfig %s has no trace: the server isn't miniapi, or is an older version: give the kubeconfig of a miniapi server", server.Host, server.Name)
	}
	return server.Wrap(err)
}

// tracedObject names an object, or all objects of a resource.
type tracedObject struct{ resource, namespace, name string }

// parseObject parses RESOURCE, RESOURCE/NAME or RESOURCE/NAMESPACE/NAME.
func parseObject(text, namespace string) (tracedObject, error) {
	parts := strings.Split(text, "/")
	if text != "" && slices.Contains(parts, "") || len(parts) > 3 {
		return tracedObject{}, errors.New("must be RESOURCE/NAME, such as pods/web, or RESOURCE/NAMESPACE/NAME")
	}
	object := tracedObject{resource: parts[0], namespace: namespace}
	if len(parts) > 1 {
		object.name = parts[len(parts)-1]
	}
	if len(parts) > 2 {
		object.namespace = parts[1]
	}
	return object, nil
}

// expand replaces a short name of a resource, such as po or deploy, by the full name. It reads the names from the
// server. If the server has no resource of that name, expand leaves the name unchanged: the trace may have requests for
// a resource that isn't served any more.
func (o *tracedObject) expand(client rest.Interface) {
	plain, subresource, hasSubresource := strings.Cut(o.resource, "/")
	if plain == "" {
		return
	}
	discovered := discovery.NewDiscoveryClient(client)
	groups, err := restmapper.GetAPIGroupResources(discovered)
	if err != nil {
		return // the request for the trace fails with the same cause
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), discovered, nil)
	// kubectl also accepts RESOURCE.VERSION.GROUP, such as deployments.v1.apps. It prefers that meaning of a name.
	versioned, unversioned := schema.ParseResourceArg(strings.ToLower(plain))
	candidates := []schema.GroupVersionResource{unversioned.WithVersion("")}
	if versioned != nil {
		candidates = []schema.GroupVersionResource{*versioned, candidates[0]}
	}
	var found schema.GroupVersionResource
	for _, candidate := range candidates {
		if found, err = mapper.ResourceFor(candidate); err == nil {
			break
		}
	}
	if err != nil {
		return
	}
	o.resource = found.GroupResource().String()
	if hasSubresource {
		o.resource += "/" + subresource
	}
}

func (o tracedObject) parameters(request *rest.Request) *rest.Request {
	return request.Param("resource", o.resource).Param("namespace", o.namespace).Param("name", o.name)
}
