package manifests_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// A field has the line of its key, or of the nearest field around it. An object that isn't from a file has none.
func TestLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "objects.yaml")
	content := `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: &common
    name: a
  data:
    b: c
- apiVersion: v1
  kind: Service
  metadata: {name: s}
  spec:
    ports:
    - port: 1
    - port: 2
      name: second
---
{apiVersion: v1, kind: ConfigMap,
 metadata: {name: z}}
`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := manifests.Lines{}
	for _, test := range []struct {
		name, reason string
		object       int
		field        string
		want         int
	}{
		{"object", "an item of a list begins at its first key", 0, "", 4},
		{"key", "the key is above its value", 0, "data", 8},
		{"value", "both are on a line", 0, "data.b", 9},
		{"element", "an index is a step of the path", 1, "spec.ports[1].name", 17},
		{"absent", "the object has the fields around it", 1, "spec.ports[1].protocol.name", 16},
		{"no element", "the list has the key of its line", 1, "spec.ports[7]", 14},
		{"second document", "lines count from the beginning of the file", 2, "metadata.name", 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := lines.Of(objects[test.object], test.field); got != test.want {
				t.Errorf("%s: want line %d, got %d", test.reason, test.want, got)
			}
		})
	}
	elsewhere := manifests.Object{Unstructured: objects[0].Unstructured, Source: "standard input, document 1"}
	if got := lines.Of(elsewhere, ""); got != 0 {
		t.Errorf("an object of standard input: want no line, got %d", got)
	}
}
