// Package traceclient requests the recorded decisions of admission from a running server, for the commands that show
// them, explain them or write them to files. [New] is the way in. Don't use the package in a server: pkg/recorder records
// the decisions, and pkg/server/admissiontrace serves them.
package traceclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// Client makes requests to one server.
type Client struct{ server *kubeconfig.Server }

// New returns a client of a server.
func New(server *kubeconfig.Server) *Client { return &Client{server} }

// Selection selects recorded requests. Empty fields select all requests.
type Selection struct {
	Object Object
	User   string
}

// Recorded returns the last recorded requests: at most as many as limit, or all if limit is 0.
func (c *Client) Recorded(ctx context.Context, selection Selection, limit int) (admissiontrace.List, error) {
	request := c.requests(selection)
	if limit > 0 {
		request.Param("limit", strconv.Itoa(limit))
	}
	var list admissiontrace.List
	err := c.ask(ctx, request, &list)
	return list, err
}

func (c *Client) requests(selection Selection) *rest.Request {
	request := c.server.Client.Get().AbsPath(admissiontrace.RequestsPath)
	return c.about(request, selection.Object).Param("user", selection.User)
}

// Follow opens a stream of events, which have the requests that the server records. It calls the function begun when
// the server has answered, and the function each for every event. It returns when the context ends, when the server
// stops, or after an error.
func (c *Client) Follow(ctx context.Context, selection Selection, begun func(), each func(admissiontrace.Event) error) error {
	body, err := c.requests(selection).Param("follow", "true").Stream(ctx)
	if err != nil {
		return c.explained(err)
	}
	defer body.Close()
	begun()
	decoder := json.NewDecoder(bufio.NewReader(body))
	for {
		var event admissiontrace.Event
		switch err := decoder.Decode(&event); {
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			return nil
		case errors.As(err, new(*json.SyntaxError)):
			return c.server.Unreadable(noTrace, err)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return c.server.Wrap(errors.New("the connection to the server broke off: run the command again when the server runs"))
		default:
			return c.server.Wrap(err)
		}
		if err := each(event); err != nil {
			return err
		}
	}
}

// Why returns the reasons why webhooks were called, or policies evaluated, for an object or not. The argument reference
// names the webhook or the policy, as in admissiontrace.Evaluation.
func (c *Client) Why(ctx context.Context, reference string, object Object) (admissiontrace.Why, error) {
	var why admissiontrace.Why
	err := c.ask(ctx, c.about(c.server.Client.Get().AbsPath(admissiontrace.WhyPath), object).Param("webhook", reference), &why)
	return why, err
}

// Evaluate returns the reasons that Why returns, for a request that no client makes.
func (c *Client) Evaluate(ctx context.Context, evaluation admissiontrace.Evaluation) (admissiontrace.Why, error) {
	var why admissiontrace.Why
	body, err := json.Marshal(evaluation)
	if err != nil {
		return why, err
	}
	err = c.ask(ctx, c.server.Client.Post().AbsPath(admissiontrace.WhyPath).Body(body), &why)
	return why, err
}

// SignIn returns a link to the server's page about requests, and the time in seconds for which the link works.
func (c *Client) SignIn(ctx context.Context) (link string, seconds int, err error) {
	var signIn admissiontrace.SignIn
	if err := c.ask(ctx, c.server.Client.Post().AbsPath(admissiontrace.SignInPath), &signIn); err != nil {
		return "", 0, err
	}
	return strings.TrimSuffix(c.server.Host, "/") + signIn.Link, signIn.Seconds, nil
}

// ask sends a request to the server, and decodes the response.
func (c *Client) ask(ctx context.Context, request *rest.Request, into any) error {
	body, err := kubeconfig.Answer(ctx, request)
	if err != nil {
		return c.explained(err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return c.server.Unreadable(noTrace, err)
	}
	return nil
}

// noTrace is the text in the error about a response that can't be decoded.
const noTrace = "isn't a trace"

// explained adds the server's address to an error. If the server has no path for traces, the new error says that the
// server isn't miniapi, or is an older version.
func (c *Client) explained(err error) error {
	if apierrors.IsNotFound(err) && !strings.Contains(err.Error(), " not found") {
		return c.server.Lacks(c.server.Host, "has no trace")
	}
	return c.server.Wrap(err)
}
