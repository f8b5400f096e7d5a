package miniapitest

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Webhook is a handler that the fixture serves to its Server by HTTPS, on a loopback address.
type Webhook struct {
	server *webhookServer
	path   string
}

// Webhook serves a handler at a path. It replaces an earlier handler of the path, so that tests that share a server can
// each serve their own. A path that ends in a slash also stands for all paths below it. The result has the URL and the
// CA bundle for a webhook configuration.
//
// AdmissionHandler makes a handler from a function. To serve the WebhookMux of a controller-runtime webhook server, use
// the path "/".
//
// If the path or the handler is invalid, calls of the webhook fail with the reason.
func (s *Server) Webhook(path string, handler http.Handler) *Webhook {
	if err := checkWebhook(path, handler); err != nil {
		path = refusedPath + cleaned(path) // not the path itself, which may have a valid handler
		handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	s.webhooks.handle(path, handler)
	return &Webhook{server: s.webhooks, path: path}
}

// refusedPath begins the path at which the fixture serves an error for a webhook with an invalid path or handler.
const refusedPath = "/miniapitest/refused"

// checkWebhook returns an error for an invalid path or handler.
func checkWebhook(path string, handler http.Handler) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("webhook path %q: must begin with a slash, as in /validate", path)
	case path != cleaned(path) && path != cleaned(path)+"/":
		return fmt.Errorf("webhook path %q: must be %q, the path that the server would call instead", path, cleaned(path))
	case path == refusedPath || strings.HasPrefix(path, refusedPath+"/"):
		return fmt.Errorf("webhook path %q: must not be below %s, where the fixture serves errors", path, refusedPath)
	case isNil(handler):
		return fmt.Errorf("webhook path %q: the handler must not be nil", path)
	}
	return nil
}

// cleaned returns a path in the form in which the server calls it: with a slash at the beginning, and clean as
// path.Clean makes it.
func cleaned(p string) string { return path.Join("/", p) }

// URL returns the handler's URL.
func (w *Webhook) URL() string {
	u := url.URL{Scheme: "https", Host: w.server.address(), Path: w.path}
	return u.String()
}

// CABundle returns the certificate of the authority that signed the webhook's serving certificate, in PEM.
func (w *Webhook) CABundle() []byte { return w.server.authority.CA() }

// ClientConfig returns the clientConfig for a webhook configuration: the URL and the CA bundle.
func (w *Webhook) ClientConfig() admissionregistrationv1.WebhookClientConfig {
	url := w.URL()
	return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: w.CABundle()}
}

// WithWebhook serves a handler at a path from the start, as Server.Webhook does later. Each path can have only one
// handler.
func WithWebhook(path string, handler http.Handler) Option {
	return func(o *options) error {
		if err := checkWebhook(path, handler); err != nil {
			return err
		}
		if _, given := o.handlers[path]; given {
			return fmt.Errorf("webhook path %q: the path has a handler already: give each path to one WithWebhook", path)
		}
		o.handlers[path] = handler
		return nil
	}
}
