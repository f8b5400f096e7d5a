package builtin_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// TestDefaultsAreOfTheKind proves that each default of a row is for the row's kind, in a version that serves the
// row. Any other default would have no effect.
func TestDefaultsAreOfTheKind(t *testing.T) {
	t.Parallel()
	eachRow(t, func(t *testing.T, _ *registry.Group, k *registry.Kind) {
		kinds := served(k)
		if k.Resource == "serviceaccounts" {
			// The subresource token takes this kind, which no row has.
			kinds = append(kinds, schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"})
		}
		for _, d := range k.Defaults {
			gvks, _, err := builtin.Table().Scheme().ObjectKinds(d.Object)
			if err != nil || !slices.ContainsFunc(gvks, func(gvk schema.GroupVersionKind) bool { return slices.Contains(kinds, gvk) }) {
				t.Errorf("the row has defaults of %T, and no version serves it", d.Object)
			}
		}
	})
}
