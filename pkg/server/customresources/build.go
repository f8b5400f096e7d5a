package customresources

import (
	"net/http"

	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/miniapi-dev/miniapi/pkg/server/customresources/serving"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Config has the settings with which custom resources are served.
type Config struct {
	// Generic is the configuration of the main server. Requests for custom resources pass the handler chain of that
	// server.
	Generic genericapiserver.Config
	// Informers has the main server's informers of built-in kinds.
	Informers informers.SharedInformerFactory
	// OpenAPI describes the API of definitions. k8s.io/apiserver writes to it.
	OpenAPI *common.OpenAPIV3Config
	// Etcd has the storage options of custom resources. Stored changes storage options, so that their stores are in the
	// server's etcd.
	Etcd   genericoptions.EtcdOptions
	Stored func(generic.RESTOptionsGetter) generic.RESTOptionsGetter
	// Member is the embedded etcd, or nil.
	Member *storage.Member
	// Alone tells whether this server is the only one that uses its etcd.
	Alone func() bool
	// Services finds the webhooks that convert custom resources, and WebhookAuth authenticates the server to them.
	Services    webhook.ServiceResolver
	WebhookAuth webhook.AuthenticationInfoResolverWrapper
	// StatusManager is the field manager of the status of definitions.
	StatusManager string
	// Seen tells whether any part of the server other than admission needs the requests that the server sends to
	// itself. An audit log, for example, needs them.
	Seen func() bool
	// Handlers has the handlers that servers of the process share.
	Handlers *serving.Handlers
	// Next serves the requests that aren't for custom resources.
	Next genericapiserver.DelegationTarget
}

// Build builds the server of custom resources, and must be called once. It assembles the parts of the library
// apiextensions-apiserver without the library's discovery and OpenAPI: packages discovery and openapi derive both from
// the definitions.
func (r *Resources) Build(c Config) error {
	storeDefinitions(&c.Etcd, &r.specs)
	config := r.genericConfig(c)
	server, err := config.Complete().New("apiextensions-apiserver", c.Next)
	if err != nil {
		return err
	}
	group, err := definitionGroup(server, config)
	if err != nil {
		return err
	}
	client, err := crdclient.NewForConfig(server.LoopbackClientConfig)
	if err != nil {
		return err
	}
	r.server, r.member, r.statusManager = server, c.Member, c.StatusManager
	stored := storageOf(group)
	r.on = stored != nil
	r.informers = newInformers(r.on, client, c.Member, r.decoding)
	if c.Member != nil && r.on {
		r.preparer = func() (*preparer, error) { return newPreparer(stored, r.feed()) }
	}
	definitions := r.informers.Apiextensions().V1().CustomResourceDefinitions()
	if err := definitions.Informer().SetTransform(asServed(c.Alone)); err != nil {
		return err
	}
	r.stores.lister = definitions.Lister()
	return r.serve(c, config, group.StaticOpenAPISpec, newStatusClient(c, config, stored, client.ApiextensionsV1()))
}

// genericConfig returns the configuration of the library's server. That server has no handler chain of its own, because
// its requests have passed the handler chain of the main server.
func (r *Resources) genericConfig(c Config) *genericapiserver.RecommendedConfig {
	g := c.Generic
	g.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	g.OpenAPIV3Config = c.OpenAPI
	g.SkipOpenAPIInstallation = true
	g.EnableDiscovery = false
	// The main server has these features, so it doesn't pass on the requests for them.
	g.EnableProfiling, g.EnableMetrics = false, false
	g.HealthzChecks, g.LivezChecks, g.ReadyzChecks = nil, nil, nil
	g.BuildHandlerChainFunc = func(h http.Handler, _ *genericapiserver.Config) http.Handler { return h }

	factory := &genericoptions.SimpleStorageFactory{StorageConfig: c.Etcd.StorageConfig}
	g.RESTOptionsGetter = withBarrier(r.barrier, c.Stored(c.Etcd.CreateRESTOptionsGetter(factory, g.ResourceTransformers)))
	return &genericapiserver.RecommendedConfig{Config: g, SharedInformerFactory: c.Informers}
}

// storesOf returns the getter of the storage options of custom resources.
func (r *Resources) storesOf(c Config, g *genericapiserver.RecommendedConfig) generic.RESTOptionsGetter {
	return r.stores.RESTOptionsGetter(c.Stored(crdoptions.NewCRDRESTOptionsGetter(c.Etcd, g.ResourceTransformers, g.StorageObjectCountTracker)))
}
