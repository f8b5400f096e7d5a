package server

import (
	"context"
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/requestlog"
	"github.com/miniapi-dev/miniapi/pkg/server/runtimehooks"
)

// handlerChain returns the function that makes the handler chain of a server: the filters of k8s.io/apiserver,
// miniapi's own handlers before and after the filters, and at the end the mux of k8s.io/apiserver.
func handlerChain(c *Config) func(http.Handler, *genericapiserver.Config) http.Handler {
	return func(next http.Handler, config *genericapiserver.Config) http.Handler {
		api := c.apis.handler(next)
		c.trace.Evaluate(api)
		handler := c.trace.Handler(c.faults.Handler(api))
		if wrap := c.options.WrapHandler; wrap != nil {
			handler = wrap(handler)
		}
		c.listener.LongRunning = func(req *http.Request) bool {
			info, err := config.RequestInfoResolver.NewRequestInfo(req)
			return err == nil && config.LongRunningFunc(req, info)
		}
		recorded := *config
		recorded.Authorization.Authorizer = c.trace.RecordForbidden(config.Authorization.Authorizer)
		chain := c.listener.Serving(genericapiserver.DefaultBuildHandlerChain(handler, &recorded))
		return admissiontrace.HideTokens(requestlog.Handler(chain, config, c.options.LogRequest))
	}
}

// buildFaults makes the injector of faults. It has no faults until the start is over.
func buildFaults(_ context.Context, c *Config) error {
	c.faults = faults.New(faults.Config{
		Seed:       c.options.Faults.Seed,
		Serializer: c.generic.Serializer,
		Namespaces: c.clients.typed.CoreV1().Namespaces(),
		Abort:      c.listener.Abort,
		Stopping:   c.following,
	})
	return nil
}

// notFound serves paths that no other part of the server serves. Its response is an API Status "not found".
func notFound(config *genericapiserver.Config) http.Handler {
	return notfoundhandler.New(config.Serializer, func(context.Context) bool { return true })
}

// installOwnPaths serves paths that kube-apiserver doesn't have: the decisions of admission, certificates for webhooks,
// and faults. The list of paths at / and the OpenAPI documents don't have them.
func installOwnPaths(c *Config, s *genericapiserver.GenericAPIServer) {
	mux := s.Handler.NonGoRestfulMux
	mux.UnlistedHandlePrefix(admissiontrace.Prefix, c.trace)
	mux.UnlistedHandle(keys.IssuePath, keys.Issuer(c.security.authority, c.generic.Serializer))
	mux.UnlistedHandle(faults.Path, c.faults.Endpoint())
	mux.UnlistedHandlePrefix(faults.Path+"/", c.faults.Endpoint())
}

// installOpenID serves the OpenID documents that verify service account tokens. If the issuer isn't an https URL, there
// are no such documents, as in kube-apiserver.
func installOpenID(c *Config, s *genericapiserver.GenericAPIServer) {
	discovery, err := c.security.authentication.Discovery(c.generic.ExternalAddress)
	if err != nil {
		klog.V(1).InfoS("service account tokens can't be discovered", "err", err)
		return
	}
	for _, service := range discovery.WebServices() {
		s.Handler.GoRestfulContainer.Add(service)
	}
}

// buildRuntimeHooks serves the paths of runtime hooks, if --runtime-hooks is set.
func buildRuntimeHooks(c *Config, s *genericapiserver.GenericAPIServer) (err error) {
	if !c.options.RuntimeHooks.Enabled {
		return nil
	}
	c.runtimeHooks, err = runtimehooks.New(runtimehooks.Config{
		Options:     c.options.RuntimeHooks,
		Dynamic:     c.clients.dynamic,
		Kubernetes:  c.clients.typed,
		Services:    c.security.services,
		WebhookAuth: c.security.webhookAuth,
		Observe:     shared.hookMetrics(),
	})
	if err != nil {
		return err
	}
	for path, handler := range c.runtimeHooks.Handlers() {
		s.Handler.NonGoRestfulMux.UnlistedHandle(path, handler)
	}
	return nil
}
