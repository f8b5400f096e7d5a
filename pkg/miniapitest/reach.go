package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

const (
	// reachHeader marks the request by which Start reaches a webhook, and the answer of
	// the fixture, which keeps it from the handler.
	reachHeader  = "Miniapi-Reach"
	reachRequest = "request"
	reachAnswer  = "answer"

	// reachTimeout is that of the options.
	reachTimeout = 10 * time.Second
	reachPeriod  = 10 * time.Millisecond
)

// reach makes a request to a webhook as the server will. Whatever HTTP status comes
// back, the webhook is there and trusted; only the fixture itself knows that it has no
// handler for it.
func reach(ctx context.Context, s *server.Server, webhook utilwebhook.ClientConfig, timeout time.Duration) error {
	client, err := s.WebhookClient(webhook)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	err = wait.PollUntilContextCancel(ctx, reachPeriod, true, func(ctx context.Context) (bool, error) {
		err := request(ctx, client.Client, client.Get().URL().String())
		// The end of the time is no reason if there was one. Who dials looks at the clock itself.
		if deadline, _ := ctx.Deadline(); last == nil || ctx.Err() == nil && time.Now().Before(deadline) {
			last = err
		}
		if utilnet.IsConnectionRefused(err) {
			return false, nil // it may be starting
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("webhook %q can't be reached: %w", webhook.Name, last)
	}
	return nil
}

func request(ctx context.Context, client *http.Client, url string) error {
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set(reachHeader, reachRequest)
	r.Close = true // nobody has another request for this client
	response, err := client.Do(r)
	if broken := (*net.OpError)(nil); err != nil && connected && !errors.As(err, &broken) {
		return fmt.Errorf("%w: it is reached by a GET without a body, which its handler must answer, with whatever status", err)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound && response.Header.Get(reachHeader) != "" {
		return fmt.Errorf("the fixture has no handler for %s: WithWebhook gives it one", r.URL.Path)
	}
	return nil
}
