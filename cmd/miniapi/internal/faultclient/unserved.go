package faultclient

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"

	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// discoveryTimeout bounds the time of the requests for the names of resources.
const discoveryTimeout = 5 * time.Second

// Unserved is a resource that a fault names and the server doesn't serve.
type Unserved struct{ Fault, Resource string }

// Unserved returns the resources that the faults name and the server doesn't serve. Such a fault affects no request for
// the resource until a definition adds the resource. The result also has short names, such as po, because a fault
// compares full names only. It is nil if the server doesn't list its resources.
func (c *Client) Unserved(ctx context.Context, added []faults.State) []Unserved {
	// Limit the time, because a fault that is in force may delay discovery.
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	_, lists, err := discovery.NewDiscoveryClient(c.server.Client).ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil // the server has already added the faults, so a missing warning is no failure
	}
	served := sets.New[string]()
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			name, subresource, _ := strings.Cut(resource.Name, "/")
			for _, full := range []string{name, schema.GroupResource{Group: version.Group, Resource: name}.String()} {
				served.Insert(strings.TrimSuffix(full+"/"+subresource, "/"))
			}
		}
	}
	var unserved []Unserved
	for _, fault := range added {
		for _, resource := range fault.Resources {
			if !strings.Contains(resource, "*") && !served.Has(resource) {
				unserved = append(unserved, Unserved{fault.Name, resource})
			}
		}
	}
	return unserved
}
