package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// With --load, the server has captured objects as they were: no request has changed them. An object of another version
// of its API is converted, and one of the server's own objects is replaced.
func TestCapturedObjects(t *testing.T) {
	t.Parallel()
	const folder = "testdata/captured"
	srv := miniapitest.Start(t, miniapitest.WithFlags("--load="+folder))
	captured := map[string]manifests.Object{}
	for _, object := range must(manifests.Load(folder))(t) {
		// Decode the object as a client does, with whole numbers.
		ok(t, object.UnmarshalJSON(must(object.MarshalJSON())(t)))
		captured[object.GetAPIVersion()+" "+object.GetKind()+" "+object.GetName()] = object
	}
	for _, test := range []struct {
		name, reason, resource string
		fields                 []string
	}{
		{"v1 Namespace default", "the object of every cluster is replaced", "namespaces", []string{"status"}},
		{"v1 Namespace shop", "the controllers leave an active namespace as it is", "namespaces", []string{"status"}},
		{"v1 Pod web-1", "a create would have dropped the status, and a deleted object can't be created", "pods", nil},
		{"v1 Event web-1.1", "two versions of one object are one object", "events", []string{"reason"}},
		{"events.k8s.io/v1 Event web-1.1", "both groups have the same events", "events", []string{"reason"}},
		{"example.com/v1beta1 Gear small", "the definition comes later in the file", "gears", []string{"spec", "status"}},
		{"example.com/v1 Cog large", "a definition without a status is applied", "cogs", nil},
		{"apiextensions.k8s.io/v1 CustomResourceDefinition gears.example.com", "its times are those of the cluster", "customresourcedefinitions", []string{"status"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			given := captured[test.name]
			resource := groupVersionOf(given.GetAPIVersion()).WithResource(test.resource)
			got := must(srv.DynamicClient().Resource(resource).Namespace(given.GetNamespace()).Get(t.Context(), given.GetName(), metav1.GetOptions{}))(t)
			if created := got.GetCreationTimestamp(); got.GetUID() == "" || created.IsZero() {
				t.Errorf("want a uid and a creation time, because every stored object has them, got %q and %s", got.GetUID(), created)
			}
			want := fieldOf(given.Unstructured, "metadata").(map[string]any)
			for field, value := range want {
				if diff := cmp.Diff(value, fieldOf(got, "metadata", field)); diff != "" && field != "resourceVersion" {
					t.Errorf("%s: metadata.%s (-captured +stored):\n%s", test.reason, field, diff)
				}
			}
			for _, field := range test.fields {
				if diff := cmp.Diff(fieldOf(given.Unstructured, field), fieldOf(got, field)); diff != "" {
					t.Errorf("%s: %s (-captured +stored):\n%s", test.reason, field, diff)
				}
			}
		})
	}
}

// A captured object that can't be stored ends the start, and the error names the file and the object.
func TestUnusableCaptures(t *testing.T) {
	t.Parallel()
	account := func(namespace, name, uid string) string {
		return "{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: " + namespace + ", name: " + name + ", uid: " + uid + "}}\n---\n"
	}
	for _, test := range []struct{ name, content, want, reason string }{
		{"unknown kind", "{apiVersion: example.com/v1, kind: Gear, metadata: {name: a}}", "objects.yaml, document 1: Gear a: nothing serves the kind in example.com/v1: add its definition",
			"the capture lacks the definition"},
		{"same name", account("default", "a", "u1") + account("default", "a", "u2"), "document 2: ServiceAccount default/a: " + "DIR/objects.yaml, document 1 has an object of the same name",
			"only one of them can be stored"},
		{"same uid", account("default", "a", "u1") + account("default", "b", "u1"), "document 2: ServiceAccount default/b: metadata.uid u1: DIR/objects.yaml, document 1: ServiceAccount default/a has the same uid",
			"controllers identify owners by their uids"},
		{"wrong type", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}", "document 1: ConfigMap a: json: cannot unmarshal number",
			"the file was edited by hand"},
		{"not stored", "{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview, metadata: {name: a}}", "doesn't store them",
			"a server answers such an object"},
		{"nothing", "", "no such file", "the path is misspelled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "objects.yaml")
			if test.content != "" {
				ok(t, os.WriteFile(path, []byte(test.content), 0o600))
			}
			srv, err := miniapitest.New(t.Context(), miniapitest.WithFlags("--load="+path))
			if err == nil {
				ok(t, srv.Stop())
			}
			if want := strings.ReplaceAll(test.want, "DIR", dir); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want an error with %q, got %v", test.reason, want, err)
			}
		})
	}
}
