package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/authentication"
	"github.com/miniapi-dev/miniapi/pkg/registry/authorization"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/service"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/apidiscovery"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources/bygroup"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/groups"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/outgoing"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
)

// servedAPIs are the APIs of a server. With peering, a peer (another server of the same etcd) answers a request for a
// resource that this server lacks. Otherwise the first part that has the requested resource answers, in this order:
// APIs of other servers in versions that aren't built in, the table of built-in kinds, custom resources.
type servedAPIs struct {
	customResources *customresources.Resources
	discovery       *apidiscovery.Manager
	list            *apidiscovery.List
	// groups and aggregator have no value until the server is built, and aggregator has none if --runtime-config turns
	// APIServices off.
	groups     *atomic.Pointer[groups.Groups]
	aggregator *atomic.Pointer[aggregation.Aggregator]
	// peers are the other servers of the same external etcd. They are nil if the server doesn't take part in
	// peering.
	peers *peers.Peers
}

// newCustomResources returns the custom resources of a server. They are served after buildCustomResources.
func newCustomResources(written func(schema.GroupResource, runtime.Object), clients *clients, l *lifetime) *customresources.Resources {
	resources := customresources.New(l.following, customresources.Hooks{Written: written, DefinitionChanged: clients.informers.ResourcesChanged})
	l.atEnd(func(context.Context) error { return resources.Wait() })
	return resources
}

func newServed(generic *genericapiserver.Config, resources *customresources.Resources, manager *apidiscovery.Manager, peers *peers.Peers) *servedAPIs {
	return &servedAPIs{
		customResources: resources,
		discovery:       manager,
		list:            apidiscovery.NewList(generic.Serializer),
		groups:          &atomic.Pointer[groups.Groups]{},
		aggregator:      &atomic.Pointer[aggregation.Aggregator]{},
		peers:           peers,
	}
}

// handler serves requests for APIs, and passes other requests to next.
func (s *servedAPIs) handler(next http.Handler) http.Handler {
	own := groups.Handler{Next: s.customResources.Settled(s.list.Documents(next)), Served: s.groups}
	aggregated := sync.OnceValue(func() http.Handler { return s.aggregator.Load().Handler(own) })
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.aggregator.Load() == nil {
			own.ServeHTTP(w, req)
			return
		}
		aggregated().ServeHTTP(w, req)
	}))
	if s.peers != nil {
		handler = s.peers.Handler(handler)
	}
	return handler
}

// resources yields the built-in resources and the custom resources of this server. For a group version that the server
// of an APIService serves, resources yields one item with the name AnyResource.
func (s *servedAPIs) resources(yield func(admissionregistration.ServedResource) bool) {
	for _, resources := range []func(func(schema.GroupVersion, string) bool){s.groups.Load().Resources, s.customResources.Served} {
		for gv, path := range resources {
			if !yield(admissionregistration.ServedResource{GroupVersion: gv, Name: path}) {
				return
			}
		}
	}
	aggregator := s.aggregator.Load()
	if aggregator == nil {
		return
	}
	for _, service := range aggregator.Remote() {
		gv := schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version}
		if !yield(admissionregistration.ServedResource{GroupVersion: gv, Name: admissionregistration.AnyResource}) {
			return
		}
	}
}

// buildCustomResources builds the server of custom resources. If the main server has no route for a request, it passes
// the request on to the server of custom resources.
func buildCustomResources(c *Config) error {
	resources := c.served.customResources
	err := resources.Build(customresources.Config{
		Generic:       *c.generic,
		Informers:     c.clients.informers,
		OpenAPI:       shared.schemas(c.options.Table).CustomResourceDefinitions(),
		Etcd:          *c.options.Etcd,
		Stored:        c.etcd.Stored,
		Member:        c.etcd.Member(),
		Alone:         c.etcd.Alone,
		Services:      c.webhooks.services,
		WebhookAuth:   c.webhooks.authentication,
		StatusManager: direct.FieldManager,
		Seen:          c.seesItself,
		Handlers:      shared.handlers,
		Next:          genericapiserver.NewEmptyDelegateWithCustomHandler(notFound(c.generic)),
	})
	if err == nil {
		c.waitFor(resources.Informers().Shutdown)
	}
	return err
}

// peerAddresses is a name without a served resource. The storage factory makes the storage configuration for the
// addresses of peers by this name, as in kube-apiserver.
var peerAddresses = schema.GroupResource{Resource: "apiServerPeerIPInfo"}

// newPeers makes the server a peer of the servers that share its external etcd. It returns nil if flags don't turn
// peering on.
func newPeers(o CompletedOptions, generic *genericapiserver.Config, clients *clients, e endpoint, connections *outgoing.Connections, manager *apidiscovery.Manager, factory serverstorage.StorageFactory, l *lifetime) (*peers.Peers, error) {
	if !o.Peers.Enabled() {
		return nil, nil
	}
	addresses, err := factory.NewConfig(peerAddresses, &corev1.Endpoints{})
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(o.Peers.AdvertiseIP, o.Peers.AdvertisePort)
	if o.Peers.AdvertiseIP == "" {
		address = net.JoinHostPort(e.addresses.Public.String(), strconv.Itoa(e.port()))
	}
	made, err := peers.New(o.Peers, peers.Config{
		ServerID:   generic.APIServerID,
		Address:    address,
		Client:     clients.typed,
		Loopback:   generic.LoopbackClientConfig,
		Addresses:  addresses,
		CertFile:   o.ProxyClientCertFile,
		KeyFile:    o.ProxyClientKeyFile,
		Dial:       &transport.DialHolder{Dial: connections.Dial},
		Serializer: generic.Serializer,
		Discovery:  manager.ResourceManager,
	})
	if err != nil {
		return nil, err
	}
	l.waitFor(made.Close)
	manager.OnGroupRemoved = made.DiscoveryChanged
	return made, nil
}

// excludeFromPeers excludes custom resources and the APIs of other servers from the requests that this server passes
// on to its peers. Every peer has the same definitions and APIServices, so this server handles these requests itself.
func (s *servedAPIs) excludeFromPeers(apiServices cache.SharedIndexInformer) error {
	if s.peers == nil {
		return nil
	}
	return s.peers.Exclude(s.customResources.Informers().Apiextensions().V1().CustomResourceDefinitions().Informer(), apiServices)
}

// installGroups serves the groups of the table, and the list of all groups.
func installGroups(c *Config, main *genericapiserver.GenericAPIServer, built []registry.APIGroup) (*groups.Groups, error) {
	installed, err := groups.Install(main, c.generic, c.options.Table, shared.schemas(c.options.Table).TypeConverter().Of, built)
	if err != nil {
		return nil, err
	}
	served := c.served
	served.discovery.ServeFrom(installed.Filling(served.discovery.ResourceManager, func(group string) bool { return group != "" }))
	served.groups.Store(installed)
	var withPeers http.Handler
	if served.peers != nil && served.peers.Discovery() != nil {
		withPeers = served.discovery.Filled(served.peers.Discovery())
	}
	served.list.Install(main, installed, withPeers)
	return installed, nil
}

// buildDiscovery serves the list of groups and the OpenAPI documents. The list and the documents change with custom
// resources and with the APIs of other servers.
func buildDiscovery(c *Config, main *genericapiserver.GenericAPIServer, installed *groups.Groups, built []registry.APIGroup, writer *direct.Writer, resourcesChanged func()) error {
	resources := c.served.customResources
	definitions := resources.Informers().Apiextensions().V1().CustomResourceDefinitions()
	services := installed.Services(main)
	schemas := shared.schemas(c.options.Table)
	kinds := schemas.Kinds(services)
	defined := schemas.Definitions(resources.Server().Handler.GoRestfulContainer.RegisteredWebServices())
	byGroup, err := bygroup.NewLister(definitions.Informer())
	if err != nil {
		return err
	}
	v3, err := openapi.Serve(main.Handler.NonGoRestfulMux, definitions.Lister(), c.served.swaggers, kinds, defined)
	if err != nil {
		return err
	}
	documents, err := openapi.Follow(definitions, byGroup, v3)
	if err != nil {
		return err
	}
	builtIn := apidiscovery.BuiltIn(c.options.Table, built, c.options.enabled.ResourceEnabled(customresources.Definitions))
	groups := apidiscovery.NewGroups(definitions, byGroup, c.served.list, builtIn, apidiscovery.Hooks{
		ResourcesChanged: resourcesChanged,
		Observe:          resources.Observe,
	})
	if err := buildAggregator(c, groups, documents, writer, resourcesChanged); err != nil {
		return err
	}
	synced, err := groups.Start(c.served.discovery)
	if err != nil {
		return err
	}
	if aggregator := c.served.aggregator.Load(); aggregator != nil {
		return aggregator.AddChecks(main, synced)
	}
	return nil
}

// dependencies returns the parts of this server that the storages of kinds need.
func dependencies(c *Config) (registry.Dependencies, error) {
	kubelet, err := kubelet(c.options.Kubelet, c.options.Components)
	if err != nil {
		return registry.Dependencies{}, err
	}
	o := c.options
	return registry.Dependencies{
		RESTOptions:     c.generic.RESTOptionsGetter,
		Written:         maintain(c),
		Gates:           o.globals.Gates(),
		Authorizer:      c.generic.Authorization.Authorizer,
		AllowPrivileged: o.AllowPrivileged,
		CustomResource:  c.clients.resourceOf,
		Parts: builtin.Parts(
			kubelet,
			admissionregistration.WebhookCalls{
				Resources: c.served.resources,
				Hides: func(resource schema.GroupResource) bool {
					return admission.Hides(o.globals.Gates(), trace.MutatingPlugin, resource)
				},
				ServiceWarning: func(namespace, name string, port int32) string {
					return services.Warning(c.webhooks.services, namespace, name, port)
				},
			},
			authentication.Tokens{Authenticator: c.generic.Authentication.Authenticator, Audiences: c.generic.Authentication.APIAudiences},
			authorization.Rules{RuleResolver: c.generic.RuleResolver},
			core.EtcdProbes(c.etcd.Probes()),
			core.EventTTL(o.EventTTL),
			core.NamespaceController(o.Controllers.Has("namespace-controller")),
			core.ServiceAccountTokens{Issuer: c.authentication.Tokens, Audiences: c.generic.Authentication.APIAudiences},
			c.escalation,
			service.Network{
				ClusterIPs: o.serviceRange, NodePorts: o.ServiceNodePortRange, Addresses: c.clients.typed.NetworkingV1().IPAddresses(),
			},
		),
	}, nil
}

// kubelet returns the connection to kubelets: those of components, and those of other programs.
func kubelet(k KubeletOptions, components []controllers.Component) (connect.Kubelet, error) {
	transport, err := rest.TransportFor(&rest.Config{
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: k.CAFile, CertFile: k.CertFile, KeyFile: k.KeyFile, Insecure: k.CAFile == "",
		},
		Dial: dialKubelet(components),
	})
	if err != nil {
		return connect.Kubelet{}, fmt.Errorf("--kubelet-certificate-authority, --kubelet-client-certificate, --kubelet-client-key: %w", err)
	}
	return connect.Kubelet{Transport: transport, AddressTypes: k.PreferredAddressTypes, Route: routeToPods(components)}, nil
}

// routeToPods returns the function that finds the address at which this machine reaches a port of a pod. It returns the
// address itself for pods that no component has.
func routeToPods(components []controllers.Component) func(address string) (string, error) {
	components = slices.DeleteFunc(slices.Clone(components), func(c controllers.Component) bool { return c.Route == nil })
	return func(address string) (string, error) {
		for _, c := range components {
			if routed, err := c.Route(address); err != nil || routed != address {
				return routed, err
			}
		}
		return address, nil
	}
}

// dialKubelet returns the function that connects to kubelets. It returns nil for the function of client-go if no
// component runs kubelets.
func dialKubelet(components []controllers.Component) func(ctx context.Context, network, address string) (net.Conn, error) {
	components = slices.DeleteFunc(slices.Clone(components), func(c controllers.Component) bool { return c.DialNode == nil })
	if len(components) == 0 {
		return nil
	}
	others := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second} // as client-go's
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		for _, c := range components {
			if conn, ok, err := c.DialNode(ctx, address); ok {
				return conn, err
			}
		}
		return others.DialContext(ctx, network, address)
	}
}
