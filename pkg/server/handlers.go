package server

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/authentication"
	"github.com/miniapi-dev/miniapi/pkg/registry/authorization"
	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/service"
	"github.com/miniapi-dev/miniapi/pkg/registry/rbac"
	"github.com/miniapi-dev/miniapi/pkg/server/authentication/serviceaccount"
	"github.com/miniapi-dev/miniapi/pkg/server/decisions"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/requestlog"
	"github.com/miniapi-dev/miniapi/pkg/server/webhooks"
)

// handlerChain returns the function that makes the handler chain of a server: the library's filters, miniapi's own
// handlers before and after the filters, and at the end the library's mux.
func handlerChain(c *Config) func(http.Handler, *genericapiserver.Config) http.Handler {
	return func(next http.Handler, config *genericapiserver.Config) http.Handler {
		api := c.apis.handler(next)
		c.decisions.Evaluate(api)
		handler := c.decisions.Handler(c.faults.Handler(api))
		if wrap := c.options.WrapHandler; wrap != nil {
			handler = wrap(handler)
		}
		c.listener.LongRunning = func(req *http.Request) bool {
			info, err := config.RequestInfoResolver.NewRequestInfo(req)
			return err == nil && config.LongRunningFunc(req, info)
		}
		recorded := *config
		recorded.Authorization.Authorizer = c.decisions.RecordForbidden(config.Authorization.Authorizer)
		chain := c.listener.Serving(genericapiserver.DefaultBuildHandlerChain(handler, &recorded))
		return decisions.HideTokens(requestlog.Handler(chain, config, c.options.LogRequest))
	}
}

// notFound serves paths that no other part of the server serves. Its response is an API Status "not found".
func notFound(config *genericapiserver.Config) http.Handler {
	return notfoundhandler.New(config.Serializer, func(context.Context) bool { return true })
}

// installOwnPaths serves paths that aren't resources: the decisions of admission, certificates for webhooks, faults, and
// the OpenID documents that verify service account tokens. The list of paths at / and the OpenAPI documents have only
// the OpenID documents, because kube-apiserver doesn't have the other paths. If the issuer isn't an https URL, there are
// no OpenID documents, as in kube-apiserver.
func installOwnPaths(c *Config, s *genericapiserver.GenericAPIServer) {
	mux := s.Handler.NonGoRestfulMux
	mux.UnlistedHandlePrefix(decisions.Prefix, c.decisions)
	mux.UnlistedHandle(keys.IssuePath, keys.Issuer(c.security.authority, c.generic.Serializer))
	mux.UnlistedHandle(faults.Path, c.faults)
	mux.UnlistedHandlePrefix(faults.Path+"/", c.faults)
	discovery, err := c.security.authentication.Discovery(c.generic.ExternalAddress)
	if err != nil {
		klog.V(1).InfoS("service account tokens can't be discovered", "err", err)
		return
	}
	for path, document := range map[string]http.Handler{
		serviceaccount.ConfigurationPath: discovery.Configuration(),
		serviceaccount.JWKSPath:          discovery.JWKS(),
	} {
		mux.Handle(path, document)
		mux.UnlistedHandle(path+"/", document) // generated clients request the path with a slash at its end
	}
}

// dependencies returns the parts of this server that the storages of built-in kinds need.
func dependencies(c *Config) (registry.Dependencies, error) {
	kubelet, err := kubelet(c.options.Kubelet)
	if err != nil {
		return registry.Dependencies{}, err
	}
	o := c.options
	return registry.Dependencies{
		RESTOptions:     c.generic.RESTOptionsGetter,
		Written:         c.written,
		Kubernetes:      o.globals.Versions().EmulationVersion(),
		Authorizer:      c.generic.Authorization.Authorizer,
		AllowPrivileged: o.AllowPrivileged,
		CustomResource:  c.clients.resourceOf,
		Parts: []any{
			kubelet,
			admissionregistration.WebhookCalls{
				Resources: c.apis.resources,
				ServiceWarning: func(namespace, name string, port int32) string {
					return webhooks.ServiceWarning(c.security.services, namespace, name, port)
				},
			},
			authentication.Tokens{Authenticator: c.generic.Authentication.Authenticator, Audiences: c.generic.Authentication.APIAudiences},
			authorization.Rules{RuleResolver: c.generic.RuleResolver},
			core.EventTTL(o.EventTTL),
			core.NamespaceController(o.Controllers.Has("namespace-controller")),
			core.ServiceAccountTokens{Issuer: c.security.authentication.Tokens, Audiences: c.generic.Authentication.APIAudiences},
			rbac.Escalation(c.security.escalation),
			service.Network{
				ClusterIPs: o.serviceRange, NodePorts: o.ServiceNodePortRange, Addresses: c.clients.typed.NetworkingV1().IPAddresses(),
			},
		},
	}, nil
}

// written is called after each write of an object, and before the answer to the client. It returns when the informers
// have the write, or when a stop begins.
func (c *Config) written(resource schema.GroupResource, obj runtime.Object) {
	c.clients.informers.Barrier().Wait(c.following, resource, obj)
	if c.flowSchemas != nil {
		c.flowSchemas.Written(resource)
	}
}

func kubelet(k KubeletOptions) (connect.Kubelet, error) {
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile: k.CAFile, CertFile: k.CertFile, KeyFile: k.KeyFile, Insecure: k.CAFile == "",
	}})
	if err != nil {
		return connect.Kubelet{}, fmt.Errorf("--kubelet-certificate-authority, --kubelet-client-certificate, --kubelet-client-key: %w", err)
	}
	return connect.Kubelet{Transport: transport, AddressTypes: k.PreferredAddressTypes}, nil
}
