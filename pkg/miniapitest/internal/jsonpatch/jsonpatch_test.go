package jsonpatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// TestApply has the patches for which the library of API servers has an answer of its own, besides one of each operation.
func TestApply(t *testing.T) {
	t.Parallel()
	const object = `{"a":1,"list":[1,2,3],"x/y":{"~":true}}`
	for _, test := range []struct{ name, reason, patch, want, wantErr string }{
		{"add, remove and replace", "the plain case",
			`[{"op":"add","path":"/b","value":1},{"op":"remove","path":"/x~1y"},{"op":"replace","path":"/list/0","value":9}]`,
			`{"a":1,"b":1,"list":[9,2,3]}`, ""},
		{"copy and move", "a patch may read what an operation before it wrote",
			`[{"op":"copy","from":"/a","path":"/b"},{"op":"move","from":"/list","path":"/c"}]`,
			`{"a":1,"b":1,"c":[1,2,3],"x/y":{"~":true}}`, ""},
		{"negative index", "API servers count from the end",
			`[{"op":"add","path":"/list/-1","value":9},{"op":"remove","path":"/x~1y"}]`, `{"a":1,"list":[1,2,3,9]}`,
			""},
		{"all digits", "a float64 would lose the last one",
			`[{"op":"add","path":"/a","value":9007199254740993},{"op":"remove","path":"/x~1y"},{"op":"remove","path":"/list"}]`,
			`{"a":9007199254740993}`, ""},
		{"equal numbers of different texts", "API servers compare the texts", `[{"op":"test","path":"/a","value":1.0}]`, "", "test"},
		{"removal of nothing", "an API server refuses the patch", `[{"op":"remove","path":"/b"}]`, "", "remove"},
		{"addition below nothing", "an API server makes no parents", `[{"op":"add","path":"/b/c","value":1}]`, "", "add"},
		{"index beyond the end", "an array has no gaps", `[{"op":"add","path":"/list/7","value":1}]`, "", "invalid index"},
		{"unknown operation", "RFC 6902 has six", `[{"op":"merge","path":"/a"}]`, "", "merge"},
		{"object in place of an array", "a merge patch is no JSON patch", `{"op":"add"}`, "", "must be a JSON array"},
		{"whole object without a value", "the library panics", `[{"op":"replace","path":""}]`, "", "missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before, patch := decoded(t, object), decoded(t, test.patch)
			patched, err := Apply(before, patch)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error %v, want one with %q: %s", err, test.wantErr, test.reason)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, test.reason)
			}
			if got := encoded(t, patched); got != test.want {
				t.Errorf("patched: %s, want %s: %s", got, test.want, test.reason)
			}
			if got := encoded(t, before); got != object {
				t.Errorf("the object itself became %s", got)
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	value, err := tree.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
