package server

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

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
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/authentication"
	"github.com/miniapi-dev/miniapi/pkg/registry/authorization"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/service"
	"github.com/miniapi-dev/miniapi/pkg/registry/rbac"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/discovery"
	"github.com/miniapi-dev/miniapi/pkg/server/groups"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// served has the APIs of a server. With peering, a peer (another server of the same etcd) answers a request for a
// resource that this server lacks. Otherwise the first part that has the requested resource answers, in this order:
// APIs of other servers in versions that aren't built in, the table of built-in kinds, custom resources.
type served struct {
	customResources *customresources.Resources
	discovery       *discovery.Manager
	list            *discovery.List
	groups          *atomic.Pointer[groups.Groups]
	// aggregator has no value before buildAggregator, or if --runtime-config turns APIServices off.
	aggregator *atomic.Pointer[aggregation.Aggregator]
	// peers are the other servers of the same external etcd. They are nil if the server doesn't take part in
	// peering.
	peers *peers.Peers
}

func newServed(c *Config) served {
	resources := customresources.New(c.following, customresources.Hooks{
		Written:           c.written,
		DefinitionChanged: func() { c.clients.informers.ResourcesChanged() },
	})
	return served{
		customResources: resources,
		discovery:       discovery.NewManager(),
		list:            discovery.NewList(c.generic.Serializer),
		groups:          &atomic.Pointer[groups.Groups]{},
		aggregator:      &atomic.Pointer[aggregation.Aggregator]{},
	}
}

// handler serves requests for APIs, and passes other requests to next.
func (s *served) handler(next http.Handler) http.Handler {
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
func (s *served) resources(yield func(admissionregistration.ServedResource) bool) {
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

// closeOthers closes the peers, and waits until the background work for peers and for the servers of APIServices has
// ended.
func (s *served) closeOthers() {
	if s.peers != nil {
		s.peers.Close()
	}
	if s.aggregator == nil {
		return
	}
	if aggregator := s.aggregator.Load(); aggregator != nil {
		aggregator.Wait()
	}
}

// buildCustomResources builds the server of custom resources. If the main server has no route for a request, it passes
// the request on to the server of custom resources.
func buildCustomResources(c *Config) error {
	return c.apis.customResources.Build(customresources.Config{
		Generic:       *c.generic,
		Informers:     c.clients.informers,
		OpenAPI:       shared.schemas().CustomResourceDefinitions(),
		Etcd:          *c.options.Etcd,
		Stored:        c.etcd.Stored,
		Member:        c.etcd.Member(),
		Alone:         c.etcd.Alone,
		Services:      c.security.services,
		WebhookAuth:   c.security.webhookAuth,
		StatusManager: direct.FieldManager,
		Seen:          c.seesItself,
		Handlers:      shared.handlers,
		Next:          genericapiserver.NewEmptyDelegateWithCustomHandler(notFound(c.generic)),
	})
}

// seesItself tells whether an audit log, traces, the record of admission decisions, or faults need the requests that
// the server sends to itself. Otherwise the server may write objects without a request.
func (c *Config) seesItself() bool {
	return c.generic.AuditBackend != nil || tracer(c) != nil || c.trace.Recorder.On() || c.faults.InForce()
}

// peerAddresses is a name without a served resource. The storage factory makes the storage configuration for the
// addresses of peers by this name, as in kube-apiserver.
var peerAddresses = schema.GroupResource{Resource: "apiServerPeerIPInfo"}

// identify sets the server's name among its peers, if flags turn peering on.
func identify(c *Config) error {
	if !c.options.Peers.Enabled() {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the host name of this server: %w", err)
	}
	c.generic.APIServerID = peers.ServerID(host, c.listener.Addr().String())
	return nil
}

// buildPeers makes the server a peer of the servers that share its external etcd, if flags turn peering on.
func buildPeers(c *Config, factory serverstorage.StorageFactory) error {
	o := c.options
	if !o.Peers.Enabled() {
		return nil
	}
	addresses, err := factory.NewConfig(peerAddresses, &corev1.Endpoints{})
	if err != nil {
		return err
	}
	address := net.JoinHostPort(o.Peers.AdvertiseIP, o.Peers.AdvertisePort)
	if o.Peers.AdvertiseIP == "" {
		port := c.listener.Addr().(*net.TCPAddr).Port
		address = net.JoinHostPort(c.generic.PublicAddress.String(), strconv.Itoa(port))
	}
	c.apis.peers, err = peers.New(o.Peers, peers.Config{
		ServerID:   c.generic.APIServerID,
		Address:    address,
		Client:     c.clients.typed,
		Loopback:   c.generic.LoopbackClientConfig,
		Addresses:  addresses,
		CertFile:   o.ProxyClientCertFile,
		KeyFile:    o.ProxyClientKeyFile,
		Dial:       &transport.DialHolder{Dial: c.connections.Dial},
		Serializer: c.generic.Serializer,
		Discovery:  c.apis.discovery.ResourceManager,
	})
	if err != nil {
		return err
	}
	c.apis.discovery.OnGroupRemoved = c.apis.peers.DiscoveryChanged
	return nil
}

// excludeFromPeers excludes custom resources and the APIs of other servers from the requests that this server passes
// on to its peers. Every peer has the same definitions and APIServices, so this server handles these requests itself.
func excludeFromPeers(c *Config, apiServices cache.SharedIndexInformer) error {
	if c.apis.peers == nil {
		return nil
	}
	return c.apis.peers.Exclude(c.apis.customResources.Informers().Apiextensions().V1().CustomResourceDefinitions().Informer(), apiServices)
}

// installGroups serves the groups of the built-in table, and the list of all groups.
func installGroups(c *Config, main *genericapiserver.GenericAPIServer, built []registry.APIGroup) (*groups.Groups, error) {
	installed, err := groups.Install(main, c.generic, builtin.Table(), shared.schemas().TypeConverter(), built)
	if err != nil {
		return nil, err
	}
	apis := &c.apis
	apis.discovery.ServeFrom(installed.Filling(apis.discovery.ResourceManager, func(group string) bool { return group != "" }))
	apis.groups.Store(installed)
	var withPeers http.Handler
	if apis.peers != nil && apis.peers.Discovery() != nil {
		withPeers = apis.discovery.Filled(apis.peers.Discovery())
	}
	apis.list.Install(main, installed, withPeers)
	return installed, nil
}

// buildDiscovery serves the list of groups and the OpenAPI documents. The list and the documents change with custom
// resources and with the APIs of other servers.
func buildDiscovery(c *Config, main *genericapiserver.GenericAPIServer, installed *groups.Groups, built []registry.APIGroup, writer *direct.Writer) error {
	resources := c.apis.customResources
	definitions := resources.Informers().Apiextensions().V1().CustomResourceDefinitions()
	services := installed.Services(main)
	kinds := shared.schemas().Kinds(services)
	defined := shared.schemas().Definitions(resources.Server().Handler.GoRestfulContainer.RegisteredWebServices())
	v3, err := openapi.Serve(main.Handler.NonGoRestfulMux, definitions.Lister(), c.apis.swaggers, kinds, defined)
	if err != nil {
		return err
	}
	documents, err := openapi.Follow(definitions, v3)
	if err != nil {
		return err
	}
	builtIn := discovery.BuiltIn(builtin.Table(), built, c.options.apis.ResourceEnabled(customresources.Definitions))
	groups := discovery.NewGroups(definitions, c.apis.list, builtIn, discovery.Hooks{
		ResourcesChanged: c.clients.resourcesChanged,
		Observe:          resources.Observe,
	})
	if err := buildAggregator(c, groups, documents, writer); err != nil {
		return err
	}
	synced, err := groups.Start(c.apis.discovery)
	if err != nil {
		return err
	}
	if aggregator := c.apis.aggregator.Load(); aggregator != nil {
		return aggregator.AddChecks(main, synced)
	}
	return nil
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
		Gates:           o.globals.Gates(),
		Authorizer:      c.generic.Authorization.Authorizer,
		AllowPrivileged: o.AllowPrivileged,
		CustomResource:  c.clients.resourceOf,
		Parts: []any{
			kubelet,
			admissionregistration.WebhookCalls{
				Resources: c.apis.resources,
				Hides: func(resource schema.GroupResource) bool {
					return admission.Hides(o.globals.Gates(), trace.MutatingPlugin, resource)
				},
				ServiceWarning: func(namespace, name string, port int32) string {
					return services.Warning(c.security.services, namespace, name, port)
				},
			},
			authentication.Tokens{Authenticator: c.generic.Authentication.Authenticator, Audiences: c.generic.Authentication.APIAudiences},
			authorization.Rules{RuleResolver: c.generic.RuleResolver},
			core.EtcdProbes(c.etcd.Probes()),
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
// have the write, when a stop begins, or after the time limit of the barrier.
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
