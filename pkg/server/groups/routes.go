package groups

import (
	"net/http"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// versionRoutes serves a group version. The first request for a resource makes the routes of the resource. All
// routes together take 20 ms and 8 MB, and most servers get requests for few resources. A request is also compared
// with fewer routes, because each resource has a separate container.
type versionRoutes struct {
	// root is the path of the version's discovery document. All other paths of the version are below it.
	root      string
	version   *genericapi.APIGroupVersion
	resources map[string]func() (http.Handler, error)
	// document serves the paths that belong to no resource.
	document func() (http.Handler, error)
}

func newVersionRoutes(version *genericapi.APIGroupVersion) *versionRoutes {
	v := &versionRoutes{root: version.Root, version: version, resources: map[string]func() (http.Handler, error){}}
	if group := version.GroupVersion.Group; group != "" {
		v.root += "/" + group
	}
	v.root += "/" + version.GroupVersion.Version
	v.document = sync.OnceValues(func() (http.Handler, error) { return discoveryDocument(version) })
	for path := range version.Storage {
		if resource, _, _ := strings.Cut(path, "/"); v.resources[resource] == nil {
			v.resources[resource] = sync.OnceValues(func() (http.Handler, error) { return v.handler(v.storages(resource)) })
		}
	}
	return v
}

// storages are the storages of a resource and its subresources.
func (v *versionRoutes) storages(resource string) map[string]rest.Storage {
	storages := map[string]rest.Storage{}
	for path, storage := range v.version.Storage {
		if path == resource || strings.HasPrefix(path, resource+"/") {
			storages[path] = storage
		}
	}
	return storages
}

// install makes the routes of storages. The creater makes the objects of their kinds.
func (v *versionRoutes) install(storages map[string]rest.Storage, creater runtime.ObjectCreater) (*restful.Container, error) {
	version := *v.version
	version.Storage, version.Creater = storages, creater
	container := newContainer(version.Serializer)
	_, _, err := version.InstallREST(container)
	return container, err
}

func (v *versionRoutes) handler(storages map[string]rest.Storage) (http.Handler, error) {
	creater := &datingCreater{ObjectCreater: v.version.Creater}
	container, err := v.install(storages, creater)
	creater.installed = true
	return dispatcher{container}, err
}

// discovered returns the version's part of aggregated discovery.
func (v *versionRoutes) discovered() (apidiscoveryv2.APIVersionDiscovery, error) {
	resources, err := apiResources(v.version)
	if err != nil {
		return apidiscoveryv2.APIVersionDiscovery{}, err
	}
	discovered, err := genericapi.ConvertGroupVersionIntoToDiscovery(resources)
	return apidiscoveryv2.APIVersionDiscovery{
		Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Version: v.version.GroupVersion.Version, Resources: discovered,
	}, err
}

// service returns the web service from which the OpenAPI specs are built.
func (v *versionRoutes) service() (*restful.WebService, error) {
	container, err := v.install(v.version.Storage, v.version.Creater)
	if err != nil {
		return nil, err
	}
	return container.RegisteredWebServices()[0], nil
}

// registerKinds adds every resource to the registry of equivalent resources. The library does so where it makes the
// routes.
func (v *versionRoutes) registerKinds() error {
	gv := v.version.GroupVersion
	for path, storage := range v.version.Storage {
		kind, err := genericapi.GetResourceKind(gv, storage, v.version.Typer)
		if err != nil {
			return err
		}
		resource, subresource, _ := strings.Cut(path, "/")
		v.version.EquivalentResourceRegistry.RegisterKindFor(gv.WithResource(resource), subresource, kind)
	}
	return nil
}

func (v *versionRoutes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	handler := v.document
	if info, ok := request.RequestInfoFrom(req.Context()); ok && info.IsResourceRequest && v.resources[info.Resource] != nil {
		handler = v.resources[info.Resource]
	}
	h, err := handler()
	if err != nil {
		responsewriters.InternalError(w, req, err)
		return
	}
	h.ServeHTTP(w, req)
}

// newContainer returns an empty container that answers errors like the server's own.
func newContainer(codecs runtime.NegotiatedSerializer) *restful.Container {
	same := func(h http.Handler) http.Handler { return h }
	return genericapiserver.NewAPIServerHandler("resource", codecs, same, nil).GoRestfulContainer
}

// dispatcher returns a container's handler without its http.ServeMux.
type dispatcher struct{ container *restful.Container }

func (d dispatcher) ServeHTTP(w http.ResponseWriter, req *http.Request) { d.container.Dispatch(w, req) }
