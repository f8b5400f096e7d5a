package trace

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason  string
		before, after string
		want          string
	}{
		{"equal", "the order of keys doesn't count", `{"a":1,"b":2}`, `{"b":2,"a":1}`, ""},
		{"new, changed and removed", "each kind of change has its sign", `{"a":1,"b":2}`, `{"b":3,"c":4}`, "- a: 1\n~ b: 2 -> 3\n+ c: 4"},
		{"an element of a list", "the index is in the path", `{"c":[{"image":"x"}]}`, `{"c":[{"image":"y"}]}`, `~ c[0].image: "x" -> "y"`},
		{"a new element", "the whole element is new", `{"c":[1]}`, `{"c":[1,{"a":2}]}`, `+ c[1]: {"a":2}`},
		{"a key with a slash", "a path stays readable", `{"metadata":{}}`, `{"metadata":{"labels":{"a/b":"c"}}}`,
			`+ metadata.labels: {"a/b":"c"}`},
		{"a key with a slash in a map", "a path stays readable", `{"labels":{}}`, `{"labels":{"a/b":"c"}}`, `+ labels["a/b"]: "c"`},
		{"managed fields", "the server makes the managed fields", `{"metadata":{"managedFields":[1]}}`,
			`{"metadata":{"managedFields":[2]}}`, ""},
		{"a new object", "the object didn't exist before", "", `{"a":1}`, `+ : {"a":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			for _, change := range Diff([]byte(test.before), []byte(test.after)) {
				lines = append(lines, change.String())
			}
			if got := strings.Join(lines, "\n"); got != test.want {
				t.Errorf("%s: want\n%s\ngot\n%s", test.reason, test.want, got)
			}
		})
	}
}
