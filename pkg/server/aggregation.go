package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"

	objects "github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/apidiscovery"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/frontproxy"
)

// remoteSource is the source of other servers' resources in aggregated discovery. Other servers take precedence over
// custom resource definitions, and built-in groups take precedence over other servers. The order is the same for
// requests.
const remoteSource = aggregated.CRDSource - 1

// buildAggregator serves the APIs of other servers, unless --runtime-config turns APIServices off.
func buildAggregator(c *Config, groups *apidiscovery.Groups, documents aggregation.Documents, writer *direct.Writer, resourcesChanged func()) error {
	if !c.options.enabled.ResourceEnabled(aggregation.Resource) {
		return c.served.excludeFromPeers(nil)
	}
	client, err := clientset.NewForConfig(c.generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	resource := aggregation.Resource.GroupResource()
	informer := c.clients.informing.newInformer(&apiregistrationv1.APIService{}, resource)
	if informer == nil {
		informer = informers.NewAPIServiceInformer(client, 0, cache.Indexers{})
	}
	observed := c.clients.informers.Barrier().Observe(resource, informer)
	aggregator, err := aggregation.New(c.following, aggregation.Config{
		APIServices: observed,
		Client:      client.ApiregistrationV1(),
		Writer:      apiServiceWriter{writer},
		Services:    c.webhooks.services,
		ServiceInformers: []cache.SharedIndexInformer{
			c.clients.informers.Core().V1().Services().Informer(),
			c.clients.informers.Core().V1().Endpoints().Informer(),
			c.clients.informers.Discovery().V1().EndpointSlices().Informer(),
		},
		Identity: frontproxy.Config{
			CertFile:   c.options.ProxyClientCertFile,
			KeyFile:    c.options.ProxyClientKeyFile,
			Authority:  c.keys.frontProxy,
			ClientCA:   c.authentication.ClientCA,
			ConfigMaps: c.clients.typed.CoreV1().ConfigMaps(metav1.NamespaceSystem),
			Writer:     writer,
		}.Identity(),
		Dial:       &transport.DialHolder{Dial: c.connections.Dial},
		Redirects:  !c.options.RejectForwardingRedirects,
		Tracer:     c.tracer,
		Serializer: c.generic.Serializer,
		Discovery:  c.served.discovery.ResourceManager.WithSource(remoteSource),
		OpenAPI:    documents,
		Changed: func() {
			groups.Sync()
			resourcesChanged()
		},
	})
	if err != nil {
		return err
	}
	c.waitFor(aggregator.Wait)
	groups.Aggregate(aggregator)
	c.served.aggregator.Store(aggregator)
	return c.served.excludeFromPeers(observed)
}

// apiServiceWriter writes the APIServices of the server's own APIs without admission.
type apiServiceWriter struct{ *direct.Writer }

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

// swaggers returns the OpenAPI v2 documents of the APIs of other servers.
func (s *servedAPIs) swaggers() []cached.Result[*spec.Swagger] {
	if aggregator := s.aggregator.Load(); aggregator != nil {
		return aggregator.Swaggers()
	}
	return nil
}

// elsewhere returns a function that selects the resources of other servers, or nil if no other server serves any.
func (s *servedAPIs) elsewhere() func(objects.Resource) bool {
	aggregator := s.aggregator.Load()
	if aggregator == nil {
		return nil
	}
	services := aggregator.Remote()
	if len(services) == 0 {
		return nil
	}
	remote := sets.New[schema.GroupVersion]()
	for _, service := range services {
		remote.Insert(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version})
	}
	return func(r objects.Resource) bool { return remote.Has(r.GroupVersion()) }
}

// hold stops the aggregator's checks of other servers until release is called. Requests of clients still reach the
// other servers.
func (s *servedAPIs) hold() (release func()) {
	if aggregator := s.aggregator.Load(); aggregator != nil {
		return aggregator.Hold()
	}
	return func() {}
}
