package customresources

import (
	"net/http"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/kube-openapi/pkg/common"
)

// Config is what custom resources are served with.
type Config struct {
	// Generic is the configuration of the server behind whose handler chain they are served.
	Generic genericapiserver.Config
	// Informers are those of the server.
	Informers informers.SharedInformerFactory
	// OpenAPI describes the API of definitions. The library writes to it.
	OpenAPI *common.OpenAPIV3Config
	// Etcd says how they are stored, and Stored puts stores onto the server's etcd.
	Etcd   genericoptions.EtcdOptions
	Stored func(generic.RESTOptionsGetter) generic.RESTOptionsGetter
	// Alone says whether no other server has the same objects.
	Alone func() bool
	// Services and WebhookAuth are how webhooks are reached that convert custom resources.
	Services    webhook.ServiceResolver
	WebhookAuth webhook.AuthenticationInfoResolverWrapper
	// Next serves what isn't defined.
	Next genericapiserver.DelegationTarget
}

// Build builds the server of the custom resources, once.
func (r *Resources) Build(c Config) error {
	config, err := libraryConfig(r, c)
	if err != nil {
		return err
	}
	if r.built, err = config.Complete().New(c.Next); err != nil {
		return err
	}
	definitions := r.built.Informers.Apiextensions().V1().CustomResourceDefinitions()
	r.barrier.served.handler, r.barrier.served.lister = r.Server().UnprotectedHandler(), definitions.Lister()
	return serveAtOnce(definitions.Informer(), c.Alone)
}

// libraryConfig is the configuration of apiextensions-apiserver, whose requests come through the handler chain of the
// server.
func libraryConfig(r *Resources, c Config) (*crdserver.Config, error) {
	g := c.Generic
	g.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	g.OpenAPIV3Config = c.OpenAPI
	g.SkipOpenAPIInstallation = true
	// It is asked behind the filters of the main server, and only for what that doesn't have.
	g.EnableProfiling, g.EnableMetrics = false, false
	g.HealthzChecks, g.LivezChecks, g.ReadyzChecks = nil, nil, nil
	g.BuildHandlerChainFunc = func(h http.Handler, _ *genericapiserver.Config) http.Handler { return h }

	storeDefinitions(&c.Etcd)
	factory := &genericoptions.SimpleStorageFactory{StorageConfig: c.Etcd.StorageConfig}
	g.RESTOptionsGetter = withBarrier(r.barrier, c.Stored(c.Etcd.CreateRESTOptionsGetter(factory, g.ResourceTransformers)))
	customResources := c.Stored(crdoptions.NewCRDRESTOptionsGetter(c.Etcd, g.ResourceTransformers, g.StorageObjectCountTracker))
	return &crdserver.Config{
		GenericConfig: &genericapiserver.RecommendedConfig{Config: g, SharedInformerFactory: c.Informers},
		ExtraConfig: crdserver.ExtraConfig{
			CRDRESTOptionsGetter: r.barrier.served.RESTOptionsGetter(r.stores.RESTOptionsGetter(customResources)),
			MasterCount:          1,
			ServiceResolver:      c.Services,
			AuthResolverWrapper:  c.WebhookAuth,
		},
	}, nil
}

// HideGroup removes the document of the group of definitions from the server. The library's document would answer
// requests for all versions that definitions add to the group.
func (r *Resources) HideGroup() error {
	container, document := r.Server().Handler.GoRestfulContainer, path.Join(genericapiserver.APIGroupPrefix, apiextensionsv1.GroupName)
	for _, service := range container.RegisteredWebServices() {
		if service.RootPath() == document {
			return container.Remove(service)
		}
	}
	return nil
}
