package traceclient

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fullName returns the full name of a resource, also for a short name such as po or deploy. It reads the names from the
// server. If the server has no resource of that name, fullName returns the name unchanged: the trace may have requests
// for a resource that isn't served any more.
func fullName(client rest.Interface, name string) string {
	plain, subresource, hasSubresource := strings.Cut(name, "/")
	if plain == "" {
		return name
	}
	discovered := discovery.NewDiscoveryClient(client)
	groups, err := restmapper.GetAPIGroupResources(discovered)
	if err != nil {
		return name // the request for the trace fails with the same cause
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), discovered, nil)
	// kubectl also accepts RESOURCE.VERSION.GROUP, such as deployments.v1.apps. It prefers that meaning of a name.
	versioned, unversioned := schema.ParseResourceArg(strings.ToLower(plain))
	candidates := []schema.GroupVersionResource{unversioned.WithVersion("")}
	if versioned != nil {
		candidates = []schema.GroupVersionResource{*versioned, candidates[0]}
	}
	var found schema.GroupVersionResource
	for _, candidate := range candidates {
		if found, err = mapper.ResourceFor(candidate); err == nil {
			break
		}
	}
	if err != nil {
		return name
	}
	if hasSubresource {
		return found.GroupResource().String() + "/" + subresource
	}
	return found.GroupResource().String()
}
