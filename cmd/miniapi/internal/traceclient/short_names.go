package traceclient

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// UnservedError is the error about a resource that the server doesn't have.
type UnservedError struct {
	Resource string
	// Host is the address of the server.
	Host string
}

func (e *UnservedError) Error() string {
	return fmt.Sprintf("the server %s has no resource %q: give the name of a resource that it has, such as pods", e.Host, e.Resource)
}

// Find returns the resource of a name, which may be a short name such as po or deploy, and whether its objects are in
// namespaces. It reads the names from the server.
func Find(client rest.Interface, name string) (found schema.GroupVersionResource, namespaced bool, err error) {
	discovered := discovery.NewDiscoveryClient(client)
	groups, err := restmapper.GetAPIGroupResources(discovered)
	if err != nil {
		return found, false, err
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), discovered, nil)
	// kubectl also accepts RESOURCE.VERSION.GROUP, such as deployments.v1.apps. It prefers that meaning of a name.
	versioned, unversioned := schema.ParseResourceArg(strings.ToLower(name))
	candidates := []schema.GroupVersionResource{unversioned.WithVersion("")}
	if versioned != nil {
		candidates = []schema.GroupVersionResource{*versioned, candidates[0]}
	}
	for _, candidate := range candidates {
		if found, err = mapper.ResourceFor(candidate); err == nil {
			break
		}
	}
	if err != nil {
		return found, false, err
	}
	kind, err := mapper.KindFor(found)
	if err != nil {
		return found, false, err
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return found, err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace, err
}

// Resolve returns the object with the full name of its resource, which may be a short name. If the server doesn't have
// the resource, Resolve returns the object unchanged, because the trace may have requests for a resource that isn't
// served any more, and an UnservedError.
func (c *Client) Resolve(object Object) (Object, error) {
	plain, subresource, hasSubresource := strings.Cut(object.Resource, "/")
	if plain == "" {
		return object, nil
	}
	found, _, err := Find(c.server.Client, plain)
	if meta.IsNoMatchError(err) {
		return object, &UnservedError{plain, c.server.Host}
	}
	if err != nil {
		return object, nil // the request for the trace fails with the same cause
	}
	object.Resource = found.GroupResource().String()
	if hasSubresource {
		object.Resource += "/" + subresource
	}
	return object, nil
}
