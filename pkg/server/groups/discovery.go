package groups

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// discoveryVerbs are the verbs of discovery, each with a function that tells whether a storage implements the verb.
var discoveryVerbs = []struct {
	verb        string
	implemented func(rest.Storage) bool
}{
	{"create", either(implements[rest.Creater], implements[rest.NamedCreater], connects(http.MethodPost))},
	{"delete", either(implements[rest.GracefulDeleter], connects(http.MethodDelete))},
	{"deletecollection", implements[rest.CollectionDeleter]},
	{"get", either(implements[rest.Getter], implements[rest.GetterWithOptions], connects(http.MethodGet))},
	{"list", implements[rest.Lister]},
	{"patch", either(implements[rest.Patcher], connects(http.MethodPatch))},
	{"update", either(implements[rest.Updater], connects(http.MethodPut))},
	{"watch", implements[rest.Watcher]},
}

func implements[T any](storage rest.Storage) bool {
	_, ok := storage.(T)
	return ok
}

// connects returns a function that tells whether a storage makes connections (as pods/exec does) by an HTTP method.
func connects(method string) func(rest.Storage) bool {
	return func(storage rest.Storage) bool {
		connecter, ok := storage.(rest.Connecter)
		return ok && slices.Contains(connecter.ConnectMethods(), method)
	}
}

func either(conditions ...func(rest.Storage) bool) func(rest.Storage) bool {
	return func(storage rest.Storage) bool {
		return slices.ContainsFunc(conditions, func(holds func(rest.Storage) bool) bool { return holds(storage) })
	}
}

// apiResources returns the resources in the discovery document of a version. The library computes the same list from
// its routes. The routes of all versions take 20 ms to make, and every client that maps kinds to resources would wait
// for them.
func apiResources(version *genericapi.APIGroupVersion) ([]metav1.APIResource, error) {
	var resources []metav1.APIResource
	for _, name := range slices.Sorted(maps.Keys(version.Storage)) {
		resource, err := apiResource(version, name)
		if err != nil {
			return nil, fmt.Errorf("discovery of %s in %s: %w", name, version.GroupVersion, err)
		}
		resources = append(resources, resource)
	}
	return resources, nil
}

func apiResource(version *genericapi.APIGroupVersion, name string) (metav1.APIResource, error) {
	storage := version.Storage[name]
	kind, err := genericapi.GetResourceKind(version.GroupVersion, storage, version.Typer)
	if err != nil {
		return metav1.APIResource{}, err
	}
	resource := metav1.APIResource{Name: name, Kind: kind.Kind, Verbs: metav1.Verbs{}}
	if _, elsewhere := storage.(rest.GroupVersionKindProvider); elsewhere {
		resource.Group, resource.Version = kind.Group, kind.Version
	}
	parent, _, isSubresource := strings.Cut(name, "/")
	if scoper, ok := version.Storage[parent].(rest.Scoper); ok {
		resource.Namespaced = scoper.NamespaceScoped()
	}
	if provider, ok := storage.(rest.SingularNameProvider); ok && !isSubresource {
		resource.SingularName = provider.GetSingularName()
	}
	if provider, ok := storage.(rest.ShortNamesProvider); ok {
		resource.ShortNames = provider.ShortNames()
	}
	if provider, ok := storage.(rest.CategoriesProvider); ok {
		resource.Categories = provider.Categories()
	}
	for _, v := range discoveryVerbs {
		if v.implemented(storage) {
			resource.Verbs = append(resource.Verbs, v.verb)
		}
	}
	resource.StorageVersionHash, err = storageVersionHash(version, storage)
	return resource, err
}

// storageVersionHash returns a hash of the version in which a resource is stored. In discovery, a changed hash shows
// clients that the version has changed.
func storageVersionHash(version *genericapi.APIGroupVersion, storage rest.Storage) (string, error) {
	provider, ok := storage.(rest.StorageVersionProvider)
	if !ok || provider.StorageVersion() == nil || !utilfeature.DefaultFeatureGate.Enabled(features.StorageVersionHash) {
		return "", nil
	}
	kinds, _, err := version.Typer.ObjectKinds(storage.New())
	if err != nil {
		return "", err
	}
	stored, ok := provider.StorageVersion().KindForGroupVersionKinds(kinds)
	if !ok {
		return "", fmt.Errorf("none of the kinds %s can be stored", kinds)
	}
	return discovery.StorageVersionHash(stored.Group, stored.Version, stored.Kind), nil
}

// discoveryDocument returns a handler that serves the discovery document of a version, and an error for every other
// path.
func discoveryDocument(version *genericapi.APIGroupVersion) (http.Handler, error) {
	resources, err := apiResources(version)
	if err != nil {
		return nil, err
	}
	gv := version.GroupVersion
	service := new(restful.WebService)
	service.Path(path.Join(version.Root, gv.Group, gv.Version))
	lister := discovery.APIResourceListerFunc(func() []metav1.APIResource { return resources })
	discovery.NewAPIVersionHandler(version.Serializer, gv, lister).AddToWebService(service)
	container := newContainer(version.Serializer)
	container.Add(service)
	return dispatcher{container}, nil
}
