package customresources

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestWithoutConflicts checks that definitions of a group aren't prepared if two of them request the same name.
// Only requests can create such definitions, because the order of the requests decides which definition gets the
// name.
func TestWithoutConflicts(t *testing.T) {
	t.Parallel()
	define := func(group, plural, kind string, shortNames ...string) *prepared {
		return &prepared{crd: &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List", ShortNames: shortNames},
		}}}
	}
	gears := define("example.com", "gears", "Gear", "g")
	for _, test := range []struct {
		name, reason string
		other        *prepared
		want         bool
	}{
		{"another name", "both are accepted", define("example.com", "wheels", "Wheel", "w"), true},
		{"another group", "names belong to groups", define("other.com", "gears", "Gear", "g"), true},
		{"refused", "a refused definition, which is nil here, takes no names", nil, true},
		{"short name", "the first request gets the short name", define("example.com", "grids", "Grid", "g"), false},
		{"plural as short name", "resources have one space of names", define("example.com", "wheels", "Wheel", "gears"), false},
		{"kind", "the first request gets the kind", define("example.com", "wheels", "Gear"), false},
		{"list kind", "kinds have one space of names", define("example.com", "wheels", "GearList"), false},
		{"given twice", "the second definition changes the first", gears, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := withoutConflicts([]*prepared{gears, test.other})
			if (got[0] != nil) != test.want {
				t.Errorf("the definition is kept: %t, want %t: %s", got[0] != nil, test.want, test.reason)
			}
			if !test.want && got[1] != nil {
				t.Error("the other is kept")
			}
		})
	}
}
