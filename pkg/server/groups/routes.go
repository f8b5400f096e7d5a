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

// versionRoutes serves a group version. The first request for a resource makes the routes of the resource, because all
// routes together take 20 ms and 8 MB, and most servers get requests for few resources. Each resource has a separate
// container of routes, so a request is compared with few routes.
type versionRoutes struct {
	// root is the path of the version's discovery document. All other paths of the version are below it.
	root      string
	version   *genericapi.APIGroupVersion
	resources map[string]func() (http.Handler, error)
	// document serves the paths of the version that aren't resources.
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

// storages returns the storages of a resource and of its subresources.
func (v *versionRoutes) storages(resource string) map[string]rest.Storage {
	storages := map[string]rest.Storage{}
	for path, storage := range v.version.Storage {
		if path == resource || strings.HasPrefix(path, resource+"/") {
			storages[path] = storage
		}
	}
	return storages
}

// install makes the routes of storages. The argument creater makes empty objects of their kinds.
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

// discovered returns the version's entry in aggregated discovery.
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

// service returns the web service of the version, from which the OpenAPI documents are built.
func (v *versionRoutes) service() (*restful.WebService, error) {
	container, err := v.install(v.version.Storage, v.version.Creater)
	if err != nil {
		return nil, err
	}
	return container.RegisteredWebServices()[0], nil
}

// registerKinds adds every resource to the registry of equivalent resources. The library adds a resource when it makes
// the routes of the resource, but those routes may never be made.
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

// newContainer returns an empty container. It encodes errors in responses in the same way as the server's own
// container.
func newContainer(codecs runtime.NegotiatedSerializer) *restful.Container {
	same := func(h http.Handler) http.Handler { return h }
	return genericapiserver.NewAPIServerHandler("resource", codecs, same, nil).GoRestfulContainer
}

// dispatcher is the handler of a container. It calls the container's routes directly, without the http.ServeMux that
// the container would use.
type dispatcher struct{ container *restful.Container }

func (d dispatcher) ServeHTTP(w http.ResponseWriter, req *http.Request) { d.container.Dispatch(w, req) }
