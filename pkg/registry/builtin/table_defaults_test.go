package builtin_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// TestDefaultsAreOfTheKind checks that each function in Kind.Defaults is for the Go type of that kind, in a version
// that serves the kind. Otherwise, the function would never be called.
func TestDefaultsAreOfTheKind(t *testing.T) {
	t.Parallel()
	eachRow(t, func(t *testing.T, _ *registry.Group, k *registry.Kind) {
		kinds := served(k)
		if k.Resource == "serviceaccounts" {
			// A client creates a TokenRequest at serviceaccounts/token. So the table of kinds has no row for TokenRequest.
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
