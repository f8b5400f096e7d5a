package manifests_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
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
	"changes/e.json":           `[{"op":"remove","path":"/data"}]`,
	"changes/f.yaml":           "text\n---\n7\n---\n# nothing\n---\n" + named("f"),
	"items/g.yaml":             "apiVersion: example.com/v1\nkind: Shelf\nitems: [7, {}, {kind: Box}]\n---\n" + named("g"),
	"patches/h.yaml":           named("h") + "---\n" + named("patch"),
	"unread/i.yaml":            named("i") + "---\na: {\n",
	"names/bool.yaml":          named("on"),
	"names/number.yaml":        named("007"),
	"names/none.yaml":          "apiVersion: v1\nkind: ConfigMap\n",
	"names/list.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: [name]\n",
	"names/generated.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n",
	"reviews/nameless.yaml":    "apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nspec: {user: ann}\n",
	"reviews/named.yaml":       "apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nmetadata: {name: a}\n",
	"kustomize/j.yaml":         "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
}

// Reading manifests from the machine's file system and from an fs.FS gives the same objects.
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
	patch := func(u *unstructured.Unstructured) error {
		if u.GetName() == "patch" {
			return errors.New("data must be set")
		}
		return nil
	}
	tests := []struct {
		name, reason string
		paths        []string
		wanted       func(schema.GroupVersionKind) bool
		want         []string
		err          string
	}{
		{name: "file", reason: "documents keep their order", paths: []string{"b.yaml"}, want: []string{"b", "b2"}},
		{name: "folder",
			reason: "files are read in the order of their names, lists item by item, and a kustomization is skipped",
			paths:  []string{"below"}, want: []string{"c"}},
		{name: "folder with slashes", reason: "completion in a shell adds slashes to a folder",
			paths: []string{"./below/"}, want: []string{"c"}},
		{name: "glob", reason: "a path that names no file is a pattern", paths: []string{"*.y*ml"}, want: []string{"a", "b", "b2"}},
		{name: "in order", reason: "the caller decides the order of paths", paths: []string{"below/c.json", "a.yml"},
			want: []string{"c", "a"}},
		{name: "wanted", reason: "a caller that selects kinds gets no error for other content",
			paths: []string{"odd", "below"}, wanted: configMaps, want: []string{"d"}},
		{name: "wanted among no objects",
			reason: "a caller that selects kinds gets no error for content that isn't a map",
			paths:  []string{"changes"}, wanted: configMaps, want: []string{"f"}},
		{name: "wanted among lists", reason: "a field named items doesn't have to be a list of objects",
			paths: []string{"items"}, wanted: configMaps, want: []string{"g"}},
		{name: "wanted among patches", reason: "a folder may have both objects and patches", paths: []string{"patches"},
			wanted: configMaps, want: []string{"h"}},
		{name: "wanted among patches of a glob", reason: "a glob, like a folder, skips files that aren't manifests",
			paths: []string{"patches/*.yaml"}, wanted: configMaps, want: []string{"h"}},
		{name: "patch by name", reason: "a file that is named must not be skipped", paths: []string{"patches/h.yaml"}, wanted: configMaps,
			err: "h.yaml, document 2: ConfigMap patch: data must be set; if the document is a patch for kustomize, name the files of objects instead"},
		{name: "patch among all", reason: "without a selection of kinds, a patch is an error",
			paths: []string{"patches"}, err: "h.yaml, document 2: ConfigMap patch: data must be set"},
		{name: "not read", reason: "a file that can't be parsed may have objects of the selected kinds",
			paths: []string{"unread"}, wanted: configMaps, err: "i.yaml, document 2: error converting YAML to JSON"},
		{name: "name that is a boolean", reason: "YAML 1.1 reads more words as booleans than most authors expect",
			paths: []string{"names/bool.yaml"},
			err:   "bool.yaml, document 1: ConfigMap: metadata.name must be a string, and YAML reads true"},
		{name: "name that is a number", reason: "the author took the digits for a name",
			paths: []string{"names/number.yaml"},
			err:   "number.yaml, document 1: ConfigMap: metadata.name must be a string, and YAML reads 7"},
		{name: "no name", reason: "an object without a name can't be applied", paths: []string{"names/none.yaml"},
			err: "none.yaml, document 1: ConfigMap: metadata.name must be set"},
		{name: "no metadata", reason: "a list as metadata has no name", paths: []string{"names/list.yaml"},
			err: "list.yaml, document 1: ConfigMap: metadata must be a map"},
		{name: "generated name", reason: "kubectl create accepts an object with generateName alone",
			paths: []string{"names/generated.yaml"},
			err:   "generated.yaml, document 1: ConfigMap: metadata.name must be set: server-side apply needs a name"},
		{name: "review", reason: "a review is never stored, with or without a name",
			paths: []string{"reviews/nameless.yaml"},
			err:   "nameless.yaml, document 1: SubjectAccessReview: a server answers objects of this kind and doesn't store them"},
		{name: "review with a name", reason: "a review is never stored, so its name has no use",
			paths: []string{"reviews/named.yaml"},
			err:   "named.yaml, document 1: TokenReview: a server answers objects of this kind and doesn't store them"},
		{name: "no object", reason: "a document that isn't an object must be an error", paths: []string{"odd"},
			err: "d.yaml, document 1: apiVersion and kind must be set"},
		{name: "no map", reason: "a document that isn't a map must be an error", paths: []string{"changes"},
			err: "e.json, document 1: must be an object, with apiVersion and kind; if the file is for kustomize, name the files of objects instead"},
		{name: "no map in a list", reason: "an item that isn't a map must be an error", paths: []string{"items"},
			err: "g.yaml, document 1: item 1: must be an object"},
		{name: "kustomize's", reason: "no server has the kind", paths: []string{"kustomize"},
			err: "j.yaml, document 1: kind Component is for kustomize, not for a server"},
		{name: "no match", reason: "a user expects that a pattern matches a file", paths: []string{"*.toml"},
			err: "*.toml: no file matches"},
		{name: "no path", reason: "an empty path often comes from a variable that isn't set", paths: []string{""},
			err: "a path is empty: give the path of a file, a glob or a folder"},
		{name: "no file", reason: "a missing name often comes from a variable that isn't set",
			paths: []string{"none.yaml"}, err: "none.yaml"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var paths []string
			for _, p := range test.paths {
				if p != "" {
					p = dir + "/" + p
				}
				paths = append(paths, p)
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
				if !slices.Equal(test.want, got) {
					t.Errorf("want %q because %s, got %q", test.want, test.reason, got)
				}
			}
			check(manifests.Reader{Patch: patch, Wanted: test.wanted}.Load(paths...))
			check(manifests.Reader{Patch: patch, Wanted: test.wanted, FS: memory}.Load(test.paths...))
		})
	}
}

// The error for an invalid path differs from the error for a missing file.
func TestPathsOfFileSystems(t *testing.T) {
	t.Parallel()
	const rule = "must be relative to the root of the fs.FS"
	for _, test := range []struct {
		path, reason string
		says         bool
	}{
		{"/config/crd", "the error of an embed.FS says only that the file doesn't exist", true},
		{"../config/crd", "go:embed has no files of parent folders", true},
		{"/config/*.yaml", "a glob with a slash at the beginning matches nothing", true},
		{"config/none", "the path is valid, and no file has it", false},
	} {
		t.Run(test.path, func(t *testing.T) {
			t.Parallel()
			_, err := manifests.Reader{FS: fstest.MapFS{}}.Load(test.path)
			if err == nil || strings.Contains(err.Error(), rule) != test.says {
				t.Errorf("rule said: want %v because %s, got %v", test.says, test.reason, err)
			}
		})
	}
}
