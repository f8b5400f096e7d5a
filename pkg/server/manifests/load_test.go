package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"

func named(name string) string { return strings.ReplaceAll(configMap, "NAME", name) }

var tree = map[string]string{
	"b.yaml":                   named("b") + "---\n" + named("b2"),
	"a.yml":                    named("a"),
	"notes.txt":                "not a manifest",
	"below/c.json":             `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"c"}}]}`,
	"below/kustomization.yaml": "resources: [c.json]",
	"odd/d.yaml":               "resources: [c.json]\n---\n" + named("d"),
}

// Manifests are read alike from the machine and from an fs.FS.
func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	memory := fstest.MapFS{}
	for name, content := range tree {
		memory[name] = &fstest.MapFile{Data: []byte(content)}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configMaps := func(gvk schema.GroupVersionKind) bool { return gvk.Kind == "ConfigMap" }
	tests := []struct {
		name, reason string
		paths        []string
		wanted       func(schema.GroupVersionKind) bool
		want         []string
		err          string
	}{
		{name: "file", reason: "documents keep their order", paths: []string{"b.yaml"}, want: []string{"b", "b2"}},
		{name: "folder", reason: "in the order of names, lists item by item, without a kustomization", paths: []string{"below"}, want: []string{"c"}},
		{name: "glob", reason: "a pattern is what no file is called", paths: []string{"*.y*ml"}, want: []string{"a", "b", "b2"}},
		{name: "in order", reason: "the order of paths is the caller's", paths: []string{"below/c.json", "a.yml"}, want: []string{"c", "a"}},
		{name: "wanted", reason: "what isn't an object is passed over by who wants certain ones", paths: []string{"odd", "below"}, wanted: configMaps, want: []string{"d"}},
		{name: "no object", reason: "it must not be passed over in silence", paths: []string{"odd"}, err: "d.yaml, document 1: apiVersion and kind must be set"},
		{name: "no match", reason: "a pattern is expected to match", paths: []string{"*.toml"}, err: "*.toml: no file matches"},
		{name: "no file", reason: "so is a name", paths: []string{"none.yaml"}, err: "none.yaml"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var paths []string
			for _, p := range test.paths {
				paths = append(paths, filepath.Join(dir, p))
			}
			check := func(objects []manifests.Object, err error) {
				t.Helper()
				if test.err != "" {
					if err == nil || !strings.Contains(err.Error(), test.err) {
						t.Errorf("want %q because %s, got %v", test.err, test.reason, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, o := range objects {
					got = append(got, o.GetName())
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.reason, diff)
				}
			}
			check(manifests.Reader{Wanted: test.wanted}.Load(paths...))
			check(manifests.Reader{Wanted: test.wanted, FS: memory}.Load(test.paths...))
		})
	}
}
