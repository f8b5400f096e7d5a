package complete

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/traceclient"
)

// most is the largest number of objects that are offered.
const most = 500

// reader reads the values of one completion from a server.
type reader struct {
	ctx     context.Context //nolint:containedctx // a reader lives as long as one completion
	server  *kubeconfig.Server
	dynamic dynamic.Interface
}

// reading returns a completion by values of the server. The function values returns them, and whether more follows each.
func reading(source *kubeconfig.Source, values func(r *reader, typed string) (all []string, more bool)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		config, err := source.ClientConfig()
		if err != nil {
			return nil, directive(false)
		}
		config.Timeout = patience
		server, err := source.Server()
		if err != nil {
			return nil, directive(false)
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, directive(false)
		}
		all, more := values(&reader{ctx, server, client}, typed)
		return all, directive(more)
	}
}

// resources returns the names of the resources that the server can list, without their groups.
func (r *reader) resources() []string {
	lists, err := discovery.NewDiscoveryClient(r.server.Client).ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		for i := range list.APIResources {
			names[list.APIResources[i].Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// objects returns the objects of a resource, which may have its short name. With an empty namespace, it returns the objects
// of all namespaces.
func (r *reader) objects(resource, namespace string) []unstructured.Unstructured {
	found, namespaced, err := traceclient.Find(r.server.Client, resource)
	if err != nil {
		return nil
	}
	var of dynamic.ResourceInterface = r.dynamic.Resource(found)
	if namespaced && namespace != "" {
		of = r.dynamic.Resource(found).Namespace(namespace)
	}
	list, err := of.List(r.ctx, metav1.ListOptions{Limit: most})
	if err != nil {
		return nil
	}
	return list.Items
}
