package registry

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

// defaulted are the types that have defaults.
type defaulted []runtime.Object

func (d *defaulted) AddTypeDefaultingFunc(of runtime.Object, _ func(any)) { *d = append(*d, of) }

// TestDefaultsAreOfTheTable proves that each type with defaults is that of a row, in one of the versions
// that serve it. The rest could go.
func TestDefaultsAreOfTheTable(t *testing.T) {
	t.Parallel()
	// No row has this kind: it is what the subresource serviceaccounts/token takes.
	kinds := []schema.GroupVersionKind{{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}}
	table := Table()
	for i := range table {
		for j := range table[i].Kinds {
			kinds = append(kinds, served(&table[i].Kinds[j])...)
		}
	}
	var types defaulted
	defaults.AddToScheme(&types)
	if len(types) == 0 {
		t.Fatal("no type has defaults")
	}
	for _, object := range types {
		gvks, _, err := Scheme().ObjectKinds(object)
		if err != nil || !slices.ContainsFunc(gvks, func(gvk schema.GroupVersionKind) bool { return slices.Contains(kinds, gvk) }) {
			t.Errorf("%T has defaults, and no row serves it", object)
		}
	}
}
