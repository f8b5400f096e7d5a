package against

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// A capture has the same objects as the manifests of its files, page by page.
func TestCapture(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, file, content string }{
		{"list", "kubectl writes lists in this form", "a.yaml", `apiVersion: v1
items:
- apiVersion: v1
  data:
    script: |
      - apiVersion: v1
      kind: Secret
      # no comment
    text: "a
      - b"
  kind: ConfigMap
  metadata:
    name: a

# between
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    finalizers:
    - x/y
    name: b
kind: List
metadata:
  resourceVersion: ""
`},
		{"indented list", "people indent items", "a.yaml", `kind: List
apiVersion: v1
items:
  -
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
  - kind: Pod
    apiVersion: v1
    metadata:
      name: b
      finalizers:
        - x/y
`},
		{"documents", "each is an object", "a.yaml", "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n--- # next\napiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n---\n# nothing\n"},
		{"other forms", "the kind isn't in a line of its own", "a.yaml", "apiVersion: v1\nkind: \"List\"\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b}}\n"},
		{"flow items", "an item may be in one line", "a.yaml", "apiVersion: v1\nkind: PodList\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- apiVersion: v1 # old\n  kind: 'Pod'\n  metadata: {name: b}\n"},
		{"an item that is a list", "lists may contain lists", "a.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: v1\n    kind: Pod\n    metadata: {name: a}\n  - apiVersion: v1\n    kind: Pod\n    metadata: {name: b}\n"},
		{"empty list", "kubectl has found nothing", "a.yaml", "apiVersion: v1\nitems: []\nkind: List\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"},
		{"line ends of Windows", "editors write them", "a.yaml", "apiVersion: v1\r\nitems:\r\n- apiVersion: v1\r\n  kind: Pod\r\n  metadata:\r\n    name: a\r\nkind: List\r\n"},
		{"no line end", "the last line may lack it", "a.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}"},
		{"JSON list", "kubectl writes lists in this form", "a.json", `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
 {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "ü"}}], "kind": "List", "metadata": {"items": []}}`},
		{"braces", "a map of YAML in braces isn't JSON", "a.yaml", "{apiVersion: v1, kind: Pod,\n metadata: {name: a}}\n"},
		{"JSON documents", "each is an object", "a.json", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "b"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), test.file)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			want, err := manifests.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			captured, err := readCapture(path)
			if err != nil {
				t.Fatal(err)
			}
			var got []manifests.Object
			for kind := range captured {
				of := resources.Resource{Kind: kind.WithVersion("any")}
				for token := ""; ; {
					p, err := captured.list(t.Context(), of, token, 1)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, p.objects...)
					if token = p.next; token == "" {
						break
					}
				}
			}
			if w, g := texts(want), texts(got); !slices.Equal(w, g) {
				t.Errorf("%s: want\n%s\ngot\n%s", test.reason, strings.Join(w, "\n"), strings.Join(g, "\n"))
			}
		})
	}
}

// texts returns the objects with their files as texts, in order.
func texts(objects []manifests.Object) (all []string) {
	for _, object := range objects {
		all = append(all, fmt.Sprint(object.File, object.Object))
	}
	slices.Sort(all)
	return all
}

// The errors name the file, and the document or the item.
func TestUnusableCaptures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, file, content, want string }{
		{"no object", "an editor's file", "a.yaml", "a: b\n", "a.yaml, document 1: apiVersion and kind must be set"},
		{"item without a kind", "some programs leave the kind out", "a.yaml", "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n", "a.yaml, document 1, item 1: apiVersion and kind must be set"},
		{"cut JSON", "the copy wasn't complete", "a.json", `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion"`, "a.json, document 1: unexpected EOF"},
		{"nothing", "the file is empty", "a.yaml", "", "must be a kubeconfig, or have objects: it has none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), test.file)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := readCapture(path); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: want an error with %q, got %v", test.reason, test.want, err)
			}
		})
	}
}
