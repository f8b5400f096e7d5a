package server

import (
	"cmp"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
)

// customResources is the configuration of apiextensions-apiserver, which serves
// custom resources behind the same chain.
func (c *Config) customResources() (*crdserver.Config, error) {
	g := *c.generic
	g.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	g.OpenAPIV3Config = crdOpenAPIV3Config()
	g.SkipOpenAPIInstallation = true
	// It is asked behind the filters of the main server, and only for what that doesn't have.
	g.EnableProfiling, g.EnableMetrics = false, false
	g.HealthzChecks, g.LivezChecks, g.ReadyzChecks = nil, nil, nil
	g.BuildHandlerChainFunc = func(h http.Handler, _ *genericapiserver.Config) http.Handler { return h }

	etcd := *c.options.Etcd
	if err := storeDefinitions(&etcd); err != nil {
		return nil, err
	}
	factory := &genericoptions.SimpleStorageFactory{StorageConfig: etcd.StorageConfig}
	g.RESTOptionsGetter = c.crdBarrier.RESTOptionsGetter(c.stored(etcd.CreateRESTOptionsGetter(factory, g.ResourceTransformers)))
	c.customStores.written, c.customStores.cleanup = c.written, &c.crdBarrier.cleanup
	customResources := c.stored(crdoptions.NewCRDRESTOptionsGetter(etcd, g.ResourceTransformers, g.StorageObjectCountTracker))
	return &crdserver.Config{
		GenericConfig: &genericapiserver.RecommendedConfig{Config: g, SharedInformerFactory: c.informers},
		ExtraConfig: crdserver.ExtraConfig{
			CRDRESTOptionsGetter: c.crdBarrier.served.RESTOptionsGetter(c.customStores.RESTOptionsGetter(customResources)),
			MasterCount:          1,
			ServiceResolver:      c.services,
			AuthResolverWrapper:  c.webhookAuth,
		},
	}, nil
}

// storeDefinitions has CustomResourceDefinitions stored as other kinds are, in protobuf by default, and
// reads JSON as well: a schema is read and written a dozen times before it is served, and each level of it
// is parsed twice in JSON.
func storeDefinitions(etcd *genericoptions.EtcdOptions) error {
	version := apiextensionsv1.SchemeGroupVersion
	codec, versioner, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  cmp.Or(etcd.DefaultStorageMediaType, runtime.ContentTypeJSON), // as of other kinds
		StorageSerializer: crdserver.Codecs,
		StorageVersion:    version,
		MemoryVersion:     schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal},
	})
	if err != nil {
		return fmt.Errorf("--storage-media-type %s: %w", etcd.DefaultStorageMediaType, err)
	}
	etcd.StorageConfig.Codec, etcd.StorageConfig.EncodeVersioner = definitionCodec{codec}, versioner
	return nil
}
