package server

import (
	"fmt"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// install serves the groups of the registry. It does what the library's
// InstallAPIGroups does, but with a type converter that is shared by all servers of
// the process and made at its first use: the library makes one a server, from a spec
// of its own, before it serves anything.
func install(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config, groups []registry.APIGroup) error {
	for _, group := range groups {
		if err := installGroup(s, config, group); err != nil {
			return fmt.Errorf("installing API group %q: %w", group.Name, err)
		}
	}
	return nil
}

func installGroup(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config, group registry.APIGroup) error {
	root, resources := genericapiserver.APIGroupPrefix, s.AggregatedDiscoveryGroupManager
	if group.Name == "" {
		root, resources = genericapiserver.DefaultLegacyAPIPrefix, s.AggregatedLegacyDiscoveryGroupManager
	}
	for _, gv := range group.Versions {
		discovered, _, err := apiGroupVersion(s, config, group, gv, root).InstallREST(s.Handler.GoRestfulContainer)
		if err != nil {
			return err
		}
		resources.AddGroupVersion(gv.Group, apidiscoveryv2.APIVersionDiscovery{
			Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Version: gv.Version, Resources: discovered,
		})
	}
	for _, storages := range group.Storage {
		for _, storage := range storages {
			s.RegisterDestroyFunc(storage.Destroy)
		}
	}
	if group.Name == "" {
		legacyRoot := discovery.NewLegacyRootAPIHandler(config.DiscoveryAddresses, config.Serializer, root)
		handler := aggregated.WrapAggregatedDiscoveryToHandler(legacyRoot, resources, resources)
		s.Handler.GoRestfulContainer.Add(handler.GenerateWebService("/api", metav1.APIVersions{}))
		return nil
	}
	apiGroup := discoveryGroup(group.Versions)
	s.DiscoveryGroupManager.AddGroup(apiGroup)
	s.Handler.GoRestfulContainer.Add(discovery.NewAPIGroupHandler(config.Serializer, apiGroup).WebService())
	return nil
}

func apiGroupVersion(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config, group registry.APIGroup,
	gv schema.GroupVersion, root string) *genericapi.APIGroupVersion {
	served := map[string][]string{}
	for _, v := range group.Versions {
		for resource := range group.Storage[v.Version] {
			served[resource] = append(served[resource], v.String())
		}
	}
	scheme := registry.Scheme()
	return &genericapi.APIGroupVersion{
		Root:                        root,
		GroupVersion:                gv,
		Storage:                     group.Storage[gv.Version],
		AllServedVersionsByResource: served,
		OptionsExternalVersion:      &schema.GroupVersion{Version: "v1"},

		Serializer:            config.Serializer,
		ParameterCodec:        registry.ParameterCodec(),
		Creater:               scheme,
		Convertor:             scheme,
		ConvertabilityChecker: scheme,
		UnsafeConvertor:       runtime.UnsafeObjectConvertor(scheme),
		Defaulter:             scheme,
		Typer:                 scheme,
		Namer:                 runtime.Namer(meta.NewAccessor()),
		TypeConverter:         typeConverter{},

		EquivalentResourceRegistry: s.EquivalentResourceRegistry,

		Admit:               config.AdmissionControl,
		Authorizer:          s.Authorizer,
		MinRequestTimeout:   time.Duration(config.MinRequestTimeout) * time.Second,
		MaxRequestBodyBytes: config.MaxRequestBodyBytes,
	}
}

// discoveryGroup is what /apis says of versions of one group, the first preferred.
func discoveryGroup(versions []schema.GroupVersion) metav1.APIGroup {
	group := metav1.APIGroup{Name: versions[0].Group}
	for _, gv := range versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}
