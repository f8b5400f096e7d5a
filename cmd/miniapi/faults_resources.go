package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// discoveryTimeout bounds the time of the requests for the names of resources.
const discoveryTimeout = 5 * time.Second

// warnOfUnknown prints a warning for each resource that a fault names and the server doesn't serve. The fault affects
// no request for the resource until a definition adds the resource. warnOfUnknown also warns of a short name, such as
// po, because a fault compares full names only.
func warnOfUnknown(ctx context.Context, client rest.Interface, added []faults.State, errOut io.Writer) {
	// Limit the time, because a fault that is in force may delay discovery.
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	_, lists, err := discovery.NewDiscoveryClient(client).ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return // the faults are added, and a warning is no reason to fail
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
	for _, fault := range added {
		for _, resource := range fault.Resources {
			if !strings.Contains(resource, "*") && !served.Has(resource) {
				fmt.Fprintf(errOut, "Warning: fault %s: the server has no resource %q, so the fault has no effect until the resource is served\n", fault.Name, resource)
			}
		}
	}
}
