package manifests

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// If a file has only definitions and hasn't changed, Documents returns the cached definitions, without decoding the file
// again.
func TestDocuments(t *testing.T) {
	t.Parallel()
	const (
		definition = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: gears\n"
		changed    = definition + "  labels: {a: b}\n"
		mixed      = definition + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n"
	)
	for _, test := range []struct {
		name, reason  string
		first, second string
		kept          bool
	}{
		{"same", "nothing has changed", definition, definition, true},
		{"changed", "a changed file is decoded again", definition, changed, false},
		{"mixed", "the cache has only files whose objects are all definitions", mixed, mixed, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			documents := &Documents{}
			load := func(content string) Object {
				t.Helper()
				reader := Reader{FS: fstest.MapFS{"file.yaml": {Data: []byte(content)}}, Documents: documents}
				objects, err := reader.Load("file.yaml")
				if err != nil {
					t.Fatal(err)
				}
				return objects[0]
			}
			first, second := load(test.first), load(test.second)
			if kept := second.Content != nil && first.Content == second.Content; kept != test.kept {
				t.Errorf("kept: %t, want %t: %s", kept, test.kept, test.reason)
			}
			if second.Unstructured == first.Unstructured {
				t.Error("a change of one object is a change of the other")
			}
			if want := len(test.second) == len(changed); (second.GetLabels()["a"] == "b") != want {
				t.Errorf("labels are %v: the file isn't read as it is", second.GetLabels())
			}
		})
	}
}

// Documents keeps at most mostFiles files, and decodes further files each time.
func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	documents, files := &Documents{}, fstest.MapFS{}
	for n := range mostFiles + 2 {
		files[fmt.Sprintf("crds/%05d.yaml", n)] = &fstest.MapFile{Data: []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gears}\n")}
	}
	for range 2 {
		objects, err := Reader{FS: files, Documents: documents}.Load("crds")
		if err != nil || len(objects) != mostFiles+2 {
			t.Fatalf("read %d objects, want %d: %v", len(objects), mostFiles+2, err)
		}
		kept := 0
		for _, object := range objects {
			if object.Content.Kept {
				kept++
			}
		}
		if kept != mostFiles {
			t.Errorf("%d are kept, want %d", kept, mostFiles)
		}
	}
}
