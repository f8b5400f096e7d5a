package server

import (
	"context"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/discovery"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
)

// remoteSource is that of other servers in aggregated discovery: they have what they name before definitions do, as
// in requests, and this server keeps what is built in.
const remoteSource = aggregated.CRDSource - 1

// buildAggregator serves the APIs of other servers, unless --runtime-config has turned that off.
func (s *Server) buildAggregator(groups *discovery.Groups, openAPI *handler3.OpenAPIService) error {
	c := s.config
	if !c.options.apis.ResourceEnabled(aggregation.Resource) {
		return s.excludeFromPeers(nil)
	}
	client, err := clientset.NewForConfig(c.generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	resource := aggregation.Resource.GroupResource()
	informer := c.newInformer(&apiregistrationv1.APIService{}, resource)
	if informer == nil {
		informer = informers.NewAPIServiceInformer(client, 0, cache.Indexers{})
	}
	observed := c.informers.Barrier().Observe(resource, informer)
	writer := newCreator(s.groups, c.member)
	aggregator, err := aggregation.New(c.following, aggregation.Config{
		APIServices: observed,
		Client:      client.ApiregistrationV1(),
		Writer:      apiServiceWriter{writer},
		Services:    c.services,
		ServiceInformers: []cache.SharedIndexInformer{
			c.informers.Core().V1().Services().Informer(),
			c.informers.Core().V1().Endpoints().Informer(),
			c.informers.Discovery().V1().EndpointSlices().Informer(),
		},
		Identity:   c.frontProxyIdentity(writer),
		Dial:       &transport.DialHolder{Dial: c.webhookConnections.dial},
		Redirects:  !c.options.RejectForwardingRedirects,
		Serializer: c.generic.Serializer,
		Discovery:  c.discovery.ResourceManager.WithSource(remoteSource),
		OpenAPI:    openapi.RemoteDocuments{OpenAPIService: openAPI, Definitions: c.customResources.Informers().Apiextensions().V1().CustomResourceDefinitions().Lister()},
		Changed: func() {
			groups.Sync()
			c.resourcesChanged()
		},
	})
	if err != nil {
		return err
	}
	groups.Aggregate(aggregator)
	c.aggregator.Store(aggregator)
	return s.excludeFromPeers(observed)
}

// withAggregator is a handler of what other servers have, and of which there are.
func (c *Config) withAggregator(next http.Handler) http.Handler {
	wrapped := sync.OnceValue(func() http.Handler { return c.aggregator.Load().Handler(next) })
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if c.aggregator.Load() == nil { // it isn't built yet, or isn't wanted
			next.ServeHTTP(w, req)
			return
		}
		wrapped().ServeHTTP(w, req)
	})
}

// apiServiceWriter writes what the server has itself, past admission.
type apiServiceWriter struct{ *creator }

var _ aggregation.Writer = apiServiceWriter{}

// CreateAPIService implements aggregation.Writer.
func (w apiServiceWriter) CreateAPIService(ctx context.Context, s *apiregistrationv1.APIService) error {
	_, err := w.create(ctx, s)
	return err
}

// UpdateAPIService implements aggregation.Writer.
func (w apiServiceWriter) UpdateAPIService(ctx context.Context, live, s *apiregistrationv1.APIService) error {
	return w.update(ctx, live, s)
}

// DeleteAPIService implements aggregation.Writer.
func (w apiServiceWriter) DeleteAPIService(ctx context.Context, name string) error {
	store, err := storageOf[rest.GracefulDeleter](w.groups, aggregation.Resource, aggregation.Resource.Resource)
	if err != nil {
		return err
	}
	where := place{kind: apiregistrationv1.SchemeGroupVersion.WithKind("APIService"), name: name}
	_, _, err = store.Delete(asServer(ctx, "delete", where), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	return err
}
