package local

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// reachPeriod is the pause between two attempts to reach a webhook.
const reachPeriod = 10 * time.Millisecond

// Reach implements engine.Server. Like the server, it sends a request to the webhook's address. Any HTTP status means
// that the webhook listens and that its certificate is trusted. A webhook server of the fixture (package miniapitest)
// also reports whether the path has a handler: Reach returns an error for a path without a handler.
func (s *runningServer) Reach(ctx context.Context, webhook engine.Webhook, timeout time.Duration) error {
	client, err := s.server.WebhookClient(clientConfig(webhook))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	err = wait.PollUntilContextCancel(ctx, reachPeriod, true, func(ctx context.Context) (bool, error) {
		err := request(ctx, client.Client, client.Get().URL().String())
		// Keep the earlier error if this attempt has failed because of the deadline: the earlier error has the reason.
		// The dialer compares the deadline with the clock itself, so it may fail shortly before ctx ends.
		if deadline, _ := ctx.Deadline(); last == nil || ctx.Err() == nil && time.Now().Before(deadline) {
			last = err
		}
		if mayBeStarting(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return trust(fmt.Errorf("webhook %q can't be reached: %w", webhook.Name, last))
	}
	return nil
}

// mayBeStarting reports whether the error may come from a webhook whose process, or whose machine's network, is starting.
func mayBeStarting(err error) bool {
	return utilnet.IsConnectionRefused(err) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// trust returns an engine.UntrustedError if the error says that the webhook's certificate isn't trusted. It returns
// other errors unchanged.
func trust(err error) error {
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return &engine.UntrustedError{Err: err}
	}
	return err
}

// clientConfig converts a webhook of the engine to the type of k8s.io/apiserver.
func clientConfig(w engine.Webhook) utilwebhook.ClientConfig {
	c := utilwebhook.ClientConfig{Name: w.Name, URL: w.URL, CABundle: w.CABundle}
	if s := w.Service; s != nil {
		c.Service = &utilwebhook.ClientConfigService{Namespace: s.Namespace, Name: s.Name, Path: s.Path, Port: s.Port}
	}
	return c
}

func request(ctx context.Context, client *http.Client, url string) error {
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set(engine.ReachHeader, engine.ReachRequest)
	r.Close = true // close the connection afterwards, because there is no second request
	response, err := client.Do(r)
	if broken := (*net.OpError)(nil); err != nil && connected && !errors.As(err, &broken) {
		return fmt.Errorf("%w: the webhook must answer a GET without a body, with any status", err)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound && response.Header.Get(engine.ReachHeader) != "" {
		return fmt.Errorf("the fixture has no handler for the path %s: give a handler by WithWebhook", r.URL.Path)
	}
	return nil
}
