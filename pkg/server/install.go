package server

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// installed is what a server serves of the registry's groups.
type installed struct {
	versions map[schema.GroupVersion]*versionRoutes
	// legacy serves /api, and services are what the OpenAPI specs say of discovery.
	legacy   http.Handler
	services []*restful.WebService
}

// install serves the groups of the registry. It does what the library's
// InstallAPIGroups does, but routes and discovery are made when they are asked for, and
// the type converter is shared by all servers of the process: the library makes one a
// server, from a spec of its own, before it serves anything.
func install(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config, groups []registry.APIGroup) (*installed, error) {
	all := &installed{versions: map[schema.GroupVersion]*versionRoutes{}}
	for _, group := range groups {
		for _, gv := range group.Versions {
			routes := newVersionRoutes(apiGroupVersion(s, config, group, gv))
			if err := routes.registerKinds(); err != nil {
				return nil, fmt.Errorf("installing %s: %w", gv, err)
			}
			all.versions[gv] = routes
		}
		for _, storages := range group.Storage {
			for _, storage := range storages {
				s.RegisterDestroyFunc(storage.Destroy)
			}
		}
		if group.Name != "" {
			// groupList serves the document: it has the versions that others add to the group, too.
			all.services = append(all.services, discovery.NewAPIGroupHandler(config.Serializer, discoveryGroup(group.Versions)).WebService())
		}
	}
	legacyRoot := discovery.NewLegacyRootAPIHandler(config.DiscoveryAddresses, config.Serializer, genericapiserver.DefaultLegacyAPIPrefix)
	legacy := all.filling(s.AggregatedLegacyDiscoveryGroupManager, func(group string) bool { return group == "" })(s.AggregatedLegacyDiscoveryGroupManager)
	handler := aggregated.WrapAggregatedDiscoveryToHandler(legacyRoot, legacy, legacy)
	service := handler.GenerateWebService(genericapiserver.DefaultLegacyAPIPrefix, metav1.APIVersions{})
	container := newContainer(config.Serializer)
	container.Add(service)
	all.legacy, all.services = dispatcher{container}, append(all.services, service)
	return all, nil
}

// filling makes handlers of what a manager has. The manager is given the versions of some groups before the first
// request to any of the handlers.
func (i *installed) filling(resources aggregated.ResourceManager, of func(group string) bool) func(http.Handler) http.Handler {
	fill := sync.OnceValue(func() error {
		for gv, routes := range i.versions {
			if !of(gv.Group) {
				continue
			}
			version, err := routes.discovered()
			if err != nil {
				return fmt.Errorf("discovery of %s: %w", gv, err)
			}
			resources.AddGroupVersion(gv.Group, version)
		}
		return nil
	})
	return func(handler http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if err := fill(); err != nil {
				responsewriters.InternalError(w, req, err)
				return
			}
			handler.ServeHTTP(w, req)
		})
	}
}

func apiGroupVersion(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config, group registry.APIGroup,
	gv schema.GroupVersion) *genericapi.APIGroupVersion {
	root := genericapiserver.APIGroupPrefix
	if group.Name == "" {
		root = genericapiserver.DefaultLegacyAPIPrefix
	}
	served := map[string][]string{}
	for _, v := range group.Versions {
		for resource := range group.Storage[v.Version] {
			served[resource] = append(served[resource], v.String())
		}
	}
	scheme := builtin.Table().Scheme()
	return &genericapi.APIGroupVersion{
		Root:                        root,
		GroupVersion:                gv,
		Storage:                     group.Storage[gv.Version],
		AllServedVersionsByResource: served,
		OptionsExternalVersion:      &schema.GroupVersion{Version: "v1"},

		Serializer:            config.Serializer,
		ParameterCodec:        builtin.Table().ParameterCodec(),
		Creater:               scheme,
		Convertor:             scheme,
		ConvertabilityChecker: scheme,
		UnsafeConvertor:       builtin.Table().UnsafeConvertor(),
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
