package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// Group is the API group of the hook Discovery, and of the hooks of Cluster API.
const Group = "hooks.runtime.cluster.x-k8s.io"

// Version is the API version of the hook Discovery, and of the messages in this package.
const Version = "v1alpha1"

// GroupVersion returns the group version of the hook Discovery.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToCatalog adds Discovery to a catalog.
func AddToCatalog(c *catalog.Catalog) error {
	c.AddSchemas(GetOpenAPIDefinitions)
	return c.Register(GroupVersion(), catalog.Define(Discovery, catalog.Metadata{
		Summary: "asks an extension for its handlers",
		Description: "The caller sends it when an ExtensionConfig appears or changes, and again from time to time. " +
			"The extension answers with all of its handlers, and each handler names the one hook version that it implements.",
		Tags:      []string{"Discovery"},
		Singleton: true,
	}))
}
