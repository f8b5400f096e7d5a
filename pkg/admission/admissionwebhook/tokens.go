package admissionwebhook

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/klog/v2"
)

// TokenSource has the tokens by which this server authenticates itself to webhooks (KEP-6060).
type TokenSource interface {
	// Token returns the token for calls of a webhook. It returns "" for a webhook that gets none.
	Token(webhook.WebhookAccessor) (string, error)
}

// authenticated returns a context whose call of a webhook presents a token. If there is no token, the call is made without
// one, and the webhook decides whether it answers.
func (c *caller) authenticated(ctx context.Context, hook webhook.WebhookAccessor) context.Context {
	if c.tokens == nil {
		return ctx
	}
	token, err := c.tokens.Token(hook)
	if err != nil {
		klog.FromContext(ctx).Error(err, "a webhook is called without a token", "configuration", hook.GetConfigurationName(), "webhook", hook.GetName())
	}
	if token == "" {
		return ctx
	}
	return throughTransport(ctx, func(rt http.RoundTripper) http.RoundTripper { return presenting{rt, token} })
}

// presenting is a transport that presents a token with requests that have no other credentials of the header
// Authorization. The file of --admission-control-config-file may have such credentials.
type presenting struct {
	http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (p presenting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") == "" {
		req = req.Clone(req.Context()) // a RoundTripper must not change the request
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	return p.RoundTripper.RoundTrip(req)
}
