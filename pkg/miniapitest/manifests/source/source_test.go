package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifest = `# a comment
apiVersion: v1
kind: List
items:
- apiVersion: example.com/v1
  kind: Rule
  metadata: {name: first}
  spec:
    plain: a &&
      b
    literal: |
      c &&

      d
    folded: >-
      e &&
      f || g
    single: 'h == ''x'' &&
      i'
    double: "j == \"x\" \
      && k"
    list: [l,
      m]
---
kind: Rule
metadata:
  name: second
spec: {plain: n}
`

// A character has its line in every style of YAML.
func TestLineOf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"plain": "a && b", "literal": "c &&\n\nd\n", "folded": "e && f || g", "single": "h == 'x' && i", "double": `j == "x" && k`}
	for _, test := range []struct {
		name, reason, field, of string
		want                    int
	}{
		{"plain", "the first line", "plain", "a", 9},
		{"plain, folded", "the text continues", "plain", "b", 10},
		{"literal", "the text is below the indicator", "literal", "c", 12},
		{"literal with an empty line", "the empty line counts", "literal", "d", 14},
		{"folded", "the indicator may have the first character of the text", "folded", "e", 16},
		{"folded, second line", "the line break is a space of the text", "folded", "f", 17},
		{"folded, end of a line", "the operator is on the second line", "folded", "||", 17},
		{"single quotes", "a quote is doubled in the file", "single", "i", 19},
		{"double quotes", "a quote is escaped in the file", "double", "k", 21},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			object := (&Files{}).Find(path, "Rule", "first")
			if object == nil {
				t.Fatal("the object isn't found")
			}
			if got := object.LineOf(Path{"spec", test.field}, strings.Index(values[test.field], test.of)); got != test.want {
				t.Errorf("%s: want line %d, got %d", test.reason, test.want, got)
			}
		})
	}
	var files Files
	if got := files.Find(path, "Rule", "first").Line(Path{"spec", "list", 1}); got != 23 {
		t.Errorf("want the line of an element, 23, got %d", got)
	}
	if got := files.Find(path, "Rule", "second").Line(Path{"spec", "none", 0}); got != 28 {
		t.Errorf("want the line of the field above one that the file lacks, 28, got %d", got)
	}
	if got := files.Find(path, "Rule", "third"); got != nil {
		t.Errorf("want no object, got one at line %d", got.node.Line)
	}
	if got := (Path{"spec", "a", 0, "b"}).String(); got != "spec.a[0].b" {
		t.Errorf("want the path as errors have it, got %q", got)
	}
}

// A field of an error has its line, or that of the nearest field around it.
func TestLineOfParsedPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(`kind: Service
metadata: {name: s}
spec:
  ports:
  - port: 1
  - port: 2
    name: second
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var files Files
	service := files.Find(path, "Service", "s")
	for _, test := range []struct {
		name, reason, field string
		want                int
	}{
		{"object", "an error may be about the whole object", "", 1},
		{"element", "an index is a step of the path", "spec.ports[1].name", 7},
		{"absent", "the element lacks the field", "spec.ports[1].protocol.name", 6},
		{"no element", "the list begins at its first element", "spec.ports[7]", 5},
	} {
		if got := service.Line(ParsePath(test.field)); got != test.want {
			t.Errorf("%s: want line %d of %s, got %d: %s", test.name, test.want, test.field, got, test.reason)
		}
	}
	if files.Find("standard input", "Service", "s") != nil {
		t.Error("an object that isn't from a file has a place in one")
	}
}

// The server names the schema that all versions of a definition share as a field of spec.
func TestLineOfDefinition(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "definition.yaml")
	if err := os.WriteFile(path, []byte(`kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            x-kubernetes-validations:
            - message: a
              rule: self.a
    subresources:
      scale: {}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var files Files
	definition := files.Find(path, "CustomResourceDefinition", "gears.example.com")
	for _, test := range []struct {
		name, reason, field string
		want                int
	}{
		{"shared schema", "the schema is that of the first version", "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule", 13},
		{"shared subresources", "they are those of the first version", "spec.subresources.scale", 15},
		{"version", "the path is that of the file", "spec.versions[0].schema.openAPIV3Schema", 9},
		{"other field", "the field isn't one of a version", "spec.group", 4},
	} {
		if got := definition.Line(ParsePath(test.field)); got != test.want {
			t.Errorf("%s: want line %d of %s, got %d: %s", test.name, test.want, test.field, got, test.reason)
		}
	}
}
