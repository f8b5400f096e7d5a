package builtin_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// row returns the row of a resource in the table of kinds.
func row(t *testing.T, group, resource string) *registry.Kind {
	t.Helper()
	if k := builtin.Table().Row(schema.GroupResource{Group: group, Resource: resource}); k != nil {
		return k
	}
	t.Fatalf("there is no row for %s.%s", resource, group)
	return nil
}
