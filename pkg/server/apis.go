package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/discovery"
	"github.com/miniapi-dev/miniapi/pkg/server/frontproxy"
	"github.com/miniapi-dev/miniapi/pkg/server/groups"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
	"github.com/miniapi-dev/miniapi/pkg/server/seed"
)

// served has the APIs of a server. A peer (another server of the same etcd) answers a request for a resource that this
// server lacks. Otherwise the first part that has the requested resource answers, in this order: APIs of other servers
// in versions that aren't built in, the table of built-in kinds, custom resources.
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

// resources yields all resources that clients can request, including custom resources. For a group version of another
// server, resources yields one item with the name AnyResource.
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

// swaggers returns the OpenAPI v2 documents of the APIs of other servers.
func (s *served) swaggers() []cached.Result[*spec.Swagger] {
	if aggregator := s.aggregator.Load(); aggregator != nil {
		return aggregator.Swaggers()
	}
	return nil
}

// hold stops the aggregator's checks of other servers until release is called. Requests of clients still reach the
// other servers.
func (s *served) hold() (release func()) {
	if aggregator := s.aggregator.Load(); aggregator != nil {
		return aggregator.Hold()
	}
	return func() {}
}

// closeOthers waits until all requests to other servers have ended.
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
		StatusManager: seed.FieldManager,
		Seen:          c.seesItself,
		Handlers:      shared.handlers,
		Next:          genericapiserver.NewEmptyDelegateWithCustomHandler(notFound(c.generic)),
	})
}

// seesItself tells whether an audit log, traces, the record of admission decisions, or faults need the requests that
// the server sends to itself. Otherwise the server may write objects without a request.
func (c *Config) seesItself() bool {
	return c.generic.AuditBackend != nil || tracer(c) != nil || c.decisions.Recorder.On() || c.faults.InForce()
}

// installGroups serves the table's groups.
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
func buildDiscovery(c *Config, main *genericapiserver.GenericAPIServer, installed *groups.Groups, built []registry.APIGroup, writer *seed.Writer) error {
	resources := c.apis.customResources
	definitions := resources.Informers().Apiextensions().V1().CustomResourceDefinitions()
	kinds := shared.schemas().Kinds(installed.Services(main))
	defined := shared.schemas().Definitions(resources.Server().Handler.GoRestfulContainer.RegisteredWebServices())
	if err := resources.HideGroup(); err != nil {
		return err
	}
	v3, err := openapi.Serve(main.Handler.NonGoRestfulMux, notFound(c.generic), definitions.Lister(), c.apis.swaggers, kinds, defined)
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

// remoteSource is the source of other servers' resources in aggregated discovery. Other servers take precedence over
// custom resource definitions, and built-in groups take precedence over other servers. The order is the same for
// requests.
const remoteSource = aggregated.CRDSource - 1

// buildAggregator serves the APIs of other servers, unless --runtime-config turns APIServices off.
func buildAggregator(c *Config, groups *discovery.Groups, documents aggregation.Documents, writer *seed.Writer) error {
	if !c.options.apis.ResourceEnabled(aggregation.Resource) {
		return excludeFromPeers(c, nil)
	}
	client, err := clientset.NewForConfig(c.generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	resource := aggregation.Resource.GroupResource()
	informer := newInformer(c, &apiregistrationv1.APIService{}, resource)
	if informer == nil {
		informer = informers.NewAPIServiceInformer(client, 0, cache.Indexers{})
	}
	observed := c.clients.informers.Barrier().Observe(resource, informer)
	aggregator, err := aggregation.New(c.following, aggregation.Config{
		APIServices: observed,
		Client:      client.ApiregistrationV1(),
		Writer:      apiServiceWriter{writer},
		Services:    c.security.services,
		ServiceInformers: []cache.SharedIndexInformer{
			c.clients.informers.Core().V1().Services().Informer(),
			c.clients.informers.Core().V1().Endpoints().Informer(),
			c.clients.informers.Discovery().V1().EndpointSlices().Informer(),
		},
		Identity: frontproxy.Config{
			CertFile:   c.options.ProxyClientCertFile,
			KeyFile:    c.options.ProxyClientKeyFile,
			Told:       c.security.authentication.RequestHeader != nil || !c.etcd.Embedded(),
			ClientCA:   c.security.authentication.ClientCA,
			ConfigMaps: c.clients.typed.CoreV1().ConfigMaps(metav1.NamespaceSystem),
			Writer:     writer,
		}.Identity(),
		Dial:       &transport.DialHolder{Dial: c.webhooks.Dial},
		Redirects:  !c.options.RejectForwardingRedirects,
		Serializer: c.generic.Serializer,
		Discovery:  c.apis.discovery.ResourceManager.WithSource(remoteSource),
		OpenAPI:    documents,
		Changed: func() {
			groups.Sync()
			c.clients.resourcesChanged()
		},
	})
	if err != nil {
		return err
	}
	groups.Aggregate(aggregator)
	c.apis.aggregator.Store(aggregator)
	return excludeFromPeers(c, observed)
}

// apiServiceWriter writes the APIServices of the server's own APIs without admission.
type apiServiceWriter struct{ *seed.Writer }

var _ aggregation.Writer = apiServiceWriter{}

// CreateAPIService implements aggregation.Writer.
func (w apiServiceWriter) CreateAPIService(ctx context.Context, s *apiregistrationv1.APIService) error {
	_, err := w.Create(ctx, s)
	return err
}

// UpdateAPIService implements aggregation.Writer.
func (w apiServiceWriter) UpdateAPIService(ctx context.Context, live, s *apiregistrationv1.APIService) error {
	return w.Update(ctx, live, s)
}

// DeleteAPIService implements aggregation.Writer.
func (w apiServiceWriter) DeleteAPIService(ctx context.Context, name string) error {
	return w.Delete(ctx, apiregistrationv1.SchemeGroupVersion.WithKind("APIService"), name)
}

// peerAddresses is the resource name under which a server stores its address for its peers. As in kube-apiserver, the
// storage options of a resource of this name apply to the addresses.
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
		Dial:       &transport.DialHolder{Dial: c.webhooks.Dial},
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
