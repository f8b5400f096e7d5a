package server

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/discovery"
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
	services := installed.Services(main)
	if issuer, err := c.security.authentication.Discovery(c.generic.ExternalAddress); err == nil {
		for _, service := range issuer.WebServices() {
			services[service.RootPath()] = func() (*restful.WebService, error) { return service, nil }
		}
	}
	kinds := shared.schemas().Kinds(services)
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
