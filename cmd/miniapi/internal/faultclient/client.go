// Package faultclient lists, adds and removes the faults of a running server. [New] is the way in. Don't use the package
// in a server, or for the syntax of faults: pkg/server/faults parses and injects them.
package faultclient

import (
	"context"
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// Client makes requests to one server.
type Client struct{ server *kubeconfig.Server }

// New returns a client of a server.
func New(server *kubeconfig.Server) *Client { return &Client{server} }

// List returns all faults.
func (c *Client) List(ctx context.Context) ([]faults.State, error) {
	return c.do(ctx, c.server.Client.Get().AbsPath(faults.Path))
}

// Add adds faults, and returns them with the names that the server gives them.
func (c *Client) Add(ctx context.Context, added []faults.Fault) ([]faults.State, error) {
	body, err := json.Marshal(faults.File{Faults: added})
	if err != nil {
		return nil, err
	}
	return c.do(ctx, c.server.Client.Post().AbsPath(faults.Path).Body(body))
}

// Remove removes the fault with the name. Without a name, it removes all faults.
func (c *Client) Remove(ctx context.Context, name string) error {
	_, err := c.do(ctx, c.server.Client.Delete().AbsPath(faults.Path, name))
	return err
}

// do sends a request to the server, and returns the faults in the response.
func (c *Client) do(ctx context.Context, request *rest.Request) ([]faults.State, error) {
	body, err := kubeconfig.Answer(ctx, request)
	switch {
	case isFault(err):
		return nil, err
	case apierrors.IsNotFound(err):
		return nil, c.server.Lacks("the server", "injects no faults")
	case err != nil:
		return nil, c.server.Wrap(err)
	}
	list := faults.List{}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, c.server.Unreadable("has no faults", err)
	}
	return list.Faults, nil
}

// isFault tells whether a server's error is about a fault, such as a missing one. Any other not-found error means that
// the server lacks the path of faults.
func isFault(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "faults"
}
