package server

import (
	"context"
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/requestlog"
)

// handlerChain returns the function that makes the handler chain of a server: the filters of k8s.io/apiserver,
// miniapi's own handlers before and after the filters, and at the end the mux of k8s.io/apiserver.
func handlerChain(o CompletedOptions, served *servedAPIs, decisions *admissiontrace.Trace, injector *faults.Injector, e endpoint) func(http.Handler, *genericapiserver.Config) http.Handler {
	return func(next http.Handler, config *genericapiserver.Config) http.Handler {
		api := served.handler(next)
		decisions.Evaluate(api)
		handler := decisions.Handler(injector.Handler(api))
		if wrap := o.WrapHandler; wrap != nil {
			handler = wrap(handler)
		}
		recorded := *config
		recorded.Authorization.Authorizer = decisions.RecordForbidden(config.Authorization.Authorizer)
		chain := e.Serving(genericapiserver.DefaultBuildHandlerChain(handler, &recorded), func(req *http.Request) bool {
			info, err := config.RequestInfoResolver.NewRequestInfo(req)
			return err == nil && config.LongRunningFunc(req, info)
		})
		return admissiontrace.HideTokens(requestlog.Handler(chain, config, o.LogRequest))
	}
}

// notFound serves paths that no other part of the server serves. Its response is an API Status "not found".
func notFound(config *genericapiserver.Config) http.Handler {
	return notfoundhandler.New(config.Serializer, func(context.Context) bool { return true })
}

// installOwnPaths serves paths that kube-apiserver doesn't have: the decisions of admission, certificates for webhooks,
// faults, and the paths of components. The list of paths at / and the OpenAPI documents don't have them.
func installOwnPaths(c *Config, s *genericapiserver.GenericAPIServer) {
	mux := s.Handler.NonGoRestfulMux
	mux.UnlistedHandlePrefix(admissiontrace.Prefix, c.trace)
	mux.UnlistedHandle(keys.IssuePath, keys.Issuer(c.keys.authority, c.generic.Serializer))
	mux.UnlistedHandle(faults.Path, c.faults.Endpoint())
	mux.UnlistedHandlePrefix(faults.Path+"/", c.faults.Endpoint())
	for _, component := range c.options.Components {
		for path, handler := range component.Paths {
			mux.UnlistedHandle(path, handler)
		}
	}
}

// installOpenID serves the OpenID documents that verify service account tokens. If the issuer isn't an https URL, there
// are no such documents, as in kube-apiserver. A server that isn't a cluster has no service accounts.
func installOpenID(c *Config, s *genericapiserver.GenericAPIServer) {
	if !c.options.isCluster() {
		return
	}
	discovery, err := c.authentication.Discovery(c.generic.ExternalAddress)
	if err != nil {
		klog.V(1).InfoS("service account tokens can't be discovered", "err", err)
		return
	}
	for _, service := range discovery.WebServices() {
		s.Handler.GoRestfulContainer.Add(service)
	}
}

// newRuntimeHooks serves the paths of runtime hooks. It returns nil without --runtime-hooks.
func newRuntimeHooks(c *Config, s *genericapiserver.GenericAPIServer) (*hookcalls.Hooks, error) {
	if !c.options.RuntimeHooks.Enabled {
		return nil, nil
	}
	hooks, err := hookcalls.New(hookcalls.Config{
		Options:     c.options.RuntimeHooks,
		Dynamic:     c.clients.dynamic,
		Kubernetes:  c.clients.typed,
		Services:    c.webhooks.services,
		WebhookAuth: c.webhooks.authentication,
		Observe:     shared.hookMetrics(),
	})
	if err != nil {
		return nil, err
	}
	c.waitFor(hooks.Wait)
	for path, handler := range hooks.Handlers() {
		s.Handler.NonGoRestfulMux.UnlistedHandle(path, handler)
	}
	return hooks, nil
}
