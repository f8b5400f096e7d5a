package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// Client makes requests to a host.
type Client struct {
	url, token string
	http       http.Client
	transport  *http.Transport
}

// NewClient returns a client of the host that has written a Hello.
func NewClient(hello Hello) (*Client, error) {
	c := &Client{url: hello.Address, token: hello.Token, transport: &http.Transport{DisableCompression: true}}
	switch socket, isSocket := strings.CutPrefix(hello.Address, "unix://"); {
	case isSocket:
		c.url = "http://localhost"
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}
	case !strings.HasPrefix(hello.Address, "http://"):
		return nil, fmt.Errorf("address %q of the host: must be http://127.0.0.1:PORT or unix://PATH", hello.Address)
	}
	c.http.Transport = c.transport
	return c, nil
}

// Do makes a request. It decodes the answer into the argument response, unless that is nil. The error is a *url.Error if
// there is no answer, and else that of the host.
func (c *Client) Do(ctx context.Context, method, path string, request, response any) error {
	answer, err := c.send(ctx, method, path, request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if response == nil {
		_, _ = io.Copy(io.Discard, answer.Body) // so that the connection can be used again
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(response); err != nil {
		return fmt.Errorf("the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// Events calls the function each with the events of a server, until its last event or until ctx ends.
func (c *Client) Events(ctx context.Context, server string, each func(Event)) error {
	answer, err := c.send(ctx, http.MethodGet, "/v1/servers/"+server+"/events", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for decoder := json.NewDecoder(answer.Body); ; {
		var event Event
		if err := decoder.Decode(&event); err != nil {
			return fmt.Errorf("the events of server %s: %w", server, err)
		}
		each(event)
		if event.Ended {
			return nil
		}
	}
}

// CloseIdleConnections closes the connections that no request uses.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// send makes a request, and returns the answer if it is a success.
func (c *Client) send(ctx context.Context, method, path string, request any) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if request != nil {
		encoded, err := json.Marshal(request)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer, nil
	}
	defer answer.Body.Close()
	refused := &Error{}
	if err := json.NewDecoder(answer.Body).Decode(refused); err != nil || refused.Message == "" {
		return nil, fmt.Errorf("%s %s: the host answered %s", method, path, answer.Status)
	}
	return nil, refused.Err()
}
