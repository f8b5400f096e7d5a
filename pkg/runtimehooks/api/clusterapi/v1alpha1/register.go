package v1alpha1

import (
	"slices"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// AddToCatalog adds Discovery and the hooks of Cluster API to a catalog.
func AddToCatalog(c *catalog.Catalog) error {
	if err := hooksv1.AddToCatalog(c); err != nil {
		return err
	}
	c.AddSchemas(GetOpenAPIDefinitions)
	return c.Register(hooksv1.GroupVersion(), slices.Concat(lifecycle(), topology(), inPlaceUpdate(), upgradePlan())...)
}
