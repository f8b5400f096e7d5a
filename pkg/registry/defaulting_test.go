package registry

import (
	"reflect"
	"strings"
	"testing"
)

// These are the types that TestSameShape compares.
type (
	flat     struct{ A, B string }
	renamed  struct{ A, C string }
	longer   struct{ A, B, C string }
	deep     struct{ List []*flat }
	deepToo  struct{ List []*struct{ A, B word } }
	deepElse struct{ List []*renamed }
	word     string
	tree     struct{ Children []tree }
	treeToo  struct{ Children []treeToo }
)

// TestSameShape checks which two types may share a function that sets defaults. The shared function writes the fields
// of both types at the memory offsets of one of them.
func TestSameShape(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		a, b         reflect.Type
		want         string
	}{
		{"other names of types", "the fields are the same", reflect.TypeFor[deep](), reflect.TypeFor[deepToo](), ""},
		{"recursive", "the comparison ends", reflect.TypeFor[tree](), reflect.TypeFor[treeToo](), ""},
		{"another name of a field", "the field means something else", reflect.TypeFor[flat](),
			reflect.TypeFor[renamed](), "has the field B where"},
		{"another field", "the function would write beyond the end of the object", reflect.TypeFor[flat](),
			reflect.TypeFor[longer](), "has 2 fields"},
		{"another field further down", "the comparison must include the fields of nested types",
			reflect.TypeFor[deep](), reflect.TypeFor[deepElse](), "has the field B where"},
		{"another kind", "the bytes mean something else", reflect.TypeFor[flat](), reflect.TypeFor[word](), "is a struct"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := sameShape(test.a, test.b, map[[2]reflect.Type]bool{})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s: error %v, want %q", test.reason, err, test.want)
			}
		})
	}
}
