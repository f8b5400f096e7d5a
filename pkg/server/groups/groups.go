package groups

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
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/apidiscovery"
)

// Groups serves the API groups of a registry.Table.
type Groups struct {
	versions map[schema.GroupVersion]*versionRoutes
	groups   sets.Set[string]
	// unknown answers requests for versions that a group doesn't have.
	unknown http.Handler
	// aggregation serves /apis/apiregistration.k8s.io. It is nil if the group isn't served.
	aggregation http.Handler
	// legacy serves /api. It is nil without the core group. services are the web services of discovery, which the OpenAPI documents describe.
	legacy   http.Handler
	services []*restful.WebService
}

// Install serves groups after the filters of a server. It does the work of the library's InstallAPIGroups with two
// differences: it makes routes and discovery documents at their first use, and all servers of the process share the type
// converters that the argument "converter" returns for a group. The library makes type converters for each server before
// the server can serve a request.
func Install(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config, table *registry.Table,
	converter func(group string) managedfields.TypeConverter, groups []registry.APIGroup) (*Groups, error) {
	all := &Groups{
		versions: map[schema.GroupVersion]*versionRoutes{}, groups: sets.New[string](),
		unknown: dispatcher{newContainer(config.Serializer)},
	}
	for _, group := range groups {
		all.groups.Insert(group.Name)
		for _, gv := range group.Versions {
			routes := newVersionRoutes(apiGroupVersion(s, config, table, converter(group.Name), group, gv))
			if err := routes.registerKinds(); err != nil {
				return nil, fmt.Errorf("installing %s: %w", gv, err)
			}
			all.versions[gv] = routes
		}
		for version, storages := range group.Storage {
			for resource, storage := range storages {
				s.RegisterDestroyFunc(storage.Destroy)
				if checked, ok := storage.(rest.StorageWithReadiness); ok {
					gvr := metav1.GroupVersionResource{Group: group.Name, Version: version, Resource: resource}
					s.StorageReadinessHook.RegisterStorage(gvr, checked)
				}
			}
		}
		if group.Name != "" {
			// The type List of package groupdiscovery serves the paths of most groups, because definitions and other
			// servers can add versions to a group. Their web services only describe these paths in OpenAPI.
			service := discovery.NewAPIGroupHandler(config.Serializer, apidiscovery.Group(group.Versions)).WebService()
			if group.Name == apiregistrationv1.GroupName {
				container := newContainer(config.Serializer)
				container.Add(service)
				all.aggregation = dispatcher{container}
			}
			all.services = append(all.services, service)
		}
	}
	if all.groups.Has("") {
		legacy := all.legacyRoot(s, config)
		container := newContainer(config.Serializer)
		container.Add(legacy)
		all.legacy, all.services = dispatcher{container}, append(all.services, legacy)
	}
	return all, nil
}

// legacyRoot returns the web service of /api.
func (i *Groups) legacyRoot(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config) *restful.WebService {
	root := discovery.NewLegacyRootAPIHandler(config.DiscoveryAddresses, config.Serializer, genericapiserver.DefaultLegacyAPIPrefix)
	filled := i.Filling(s.AggregatedLegacyDiscoveryGroupManager, func(group string) bool { return group == "" })(s.AggregatedLegacyDiscoveryGroupManager)
	return aggregated.WrapAggregatedDiscoveryToHandler(root, filled, filled).GenerateWebService(genericapiserver.DefaultLegacyAPIPrefix, metav1.APIVersions{})
}

// Filling returns a function that wraps handlers of aggregated discovery. The first request to a wrapped handler
// adds the built-in versions to resources. The last argument selects the groups.
func (i *Groups) Filling(resources aggregated.ResourceManager, of func(group string) bool) func(http.Handler) http.Handler {
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

func apiGroupVersion(s *genericapiserver.GenericAPIServer, config *genericapiserver.Config, table *registry.Table,
	converter managedfields.TypeConverter, group registry.APIGroup, gv schema.GroupVersion) *genericapi.APIGroupVersion {
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
	scheme := table.Scheme()
	return &genericapi.APIGroupVersion{
		Root:                        root,
		GroupVersion:                gv,
		Storage:                     group.Storage[gv.Version],
		AllServedVersionsByResource: served,
		OptionsExternalVersion:      &schema.GroupVersion{Version: "v1"},

		Serializer:            config.Serializer,
		ParameterCodec:        table.ParameterCodec(),
		Creater:               scheme,
		Convertor:             scheme,
		ConvertabilityChecker: scheme,
		UnsafeConvertor:       table.UnsafeConvertor(),
		Defaulter:             scheme,
		Typer:                 scheme,
		Namer:                 runtime.Namer(meta.NewAccessor()),
		TypeConverter:         converter,

		EquivalentResourceRegistry: s.EquivalentResourceRegistry,

		Admit:               config.AdmissionControl,
		Authorizer:          s.Authorizer,
		MinRequestTimeout:   time.Duration(config.MinRequestTimeout) * time.Second,
		MaxRequestBodyBytes: config.MaxRequestBodyBytes,
	}
}

// Resources yields the version and the path of each resource and subresource.
func (i *Groups) Resources(yield func(gv schema.GroupVersion, path string) bool) {
	for gv, routes := range i.versions {
		for path := range routes.version.Storage {
			if !yield(gv, path) {
				return
			}
		}
	}
}

// Services returns the web services of the groups and of a server, by their paths. OpenAPI documents are built from
// them.
func (i *Groups) Services(s *genericapiserver.GenericAPIServer) map[string]func() (*restful.WebService, error) {
	services := map[string]func() (*restful.WebService, error){}
	for _, service := range append(s.Handler.GoRestfulContainer.RegisteredWebServices(), i.services...) {
		services[service.RootPath()] = func() (*restful.WebService, error) { return service, nil }
	}
	for _, v := range i.versions {
		services[v.root] = v.service
	}
	return services
}
