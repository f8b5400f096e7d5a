package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Versions of the example's group.
var (
	v1beta1  = schema.GroupVersion{Group: "wardle.example.com", Version: "v1beta1"}
	v1alpha1 = schema.GroupVersion{Group: "wardle.example.com", Version: "v1alpha1"}
)

// serve runs the example until the test ends, and returns the server when it is ready.
func serve(t *testing.T, args ...string) *server.Server {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan *server.Server, 1), make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"--secure-port=0"}, args...), func(s *server.Server) { ready <- s })
	}()
	select {
	case s := <-ready:
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return s
	case err := <-done:
		stop()
		t.Fatalf("the server ended before it was ready: %v", err)
		return nil
	}
}

// clientOf returns a client of the configuration.
func clientOf(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// object returns an object of the example's group with further fields.
func object(gv schema.GroupVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	if fields == nil {
		u.Object = map[string]any{}
	}
	u.SetAPIVersion(gv.String())
	u.SetKind(kind)
	u.SetName(name)
	return u
}

// checkKinds checks what the example's kinds promise, through a server that serves them.
func checkKinds(t *testing.T, client dynamic.Interface) {
	t.Helper()
	ctx := t.Context()
	flunders := client.Resource(v1beta1.WithResource("flunders")).Namespace("default")
	old := client.Resource(v1alpha1.WithResource("flunders")).Namespace("default")
	fischers := client.Resource(v1alpha1.WithResource("fischers"))

	// A reference of v1alpha1 refers to a flunder by default, and v1beta1 has a field for each kind.
	reference := map[string]any{"spec": map[string]any{"reference": "other"}}
	if _, err := old.Create(ctx, object(v1alpha1, "Flunder", "mine", reference), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := flunders.Get(ctx, "mine", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"flunderReference": "other", "referenceType": "Flunder"}, got.Object["spec"]); diff != "" {
		t.Errorf("the spec in v1beta1 (-want +got):\n%s", diff)
	}

	both := object(v1beta1, "Flunder", "both", map[string]any{"spec": map[string]any{"flunderReference": "a", "fischerReference": "b"}})
	const invalid = `Flunder.wardle.example.com "both" is invalid: spec.fischerReference: Invalid value: "b": cannot be set with flunderReference at the same time`
	if _, err := flunders.Create(ctx, both, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || err.Error() != invalid {
		t.Errorf("two references: want %q, got %v", invalid, err)
	}

	banning := object(v1alpha1, "Fischer", "strict", map[string]any{"disallowedFlunders": []any{"bad"}})
	if _, err := fischers.Create(ctx, banning, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const banned = `flunders.wardle.example.com "bad" is forbidden: this name may not be used, please change the resource name`
	if _, err := flunders.Create(ctx, object(v1beta1, "Flunder", "bad", nil), metav1.CreateOptions{}); !apierrors.IsForbidden(err) || err.Error() != banned {
		t.Errorf("a name that a fischer disallows: want %q, got %v", banned, err)
	}

	applied, err := flunders.Apply(ctx, "applied", object(v1beta1, "Flunder", "applied", nil), metav1.ApplyOptions{FieldManager: "test"})
	if err != nil || applied.GetName() != "applied" {
		t.Errorf("apply: %v", err)
	}

	catches := client.Resource(v1alpha1.WithResource("catches"))
	caught, err := catches.Namespace("default").Get(ctx, "default", metav1.GetOptions{})
	if err != nil || caught.Object["flunders"] != int64(2) {
		t.Errorf("want a catch of two flunders, got %v, %v", caught, err)
	}
	if all, err := catches.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=nothing"}); err != nil || len(all.Items) != 0 {
		t.Errorf("a field selector that selects nothing selects %v, %v", all, err)
	}
	if _, err := catches.Namespace("other").Get(ctx, "default", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a catch of another namespace: want not found, got %v", err)
	}
}

// The kinds are served alone, without namespaces and any other built-in kind.
func TestStandalone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	checkKinds(t, clientOf(t, s.AdminConfig()))

	client, err := kubernetes.NewForConfig(s.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api", "/api/v1"} {
		if err := client.RESTClient().Get().AbsPath(path).Do(t.Context()).Error(); !apierrors.IsNotFound(err) {
			t.Errorf("%s: want not found, because the core group isn't served; got %v", path, err)
		}
	}
	for path, definitions := range map[string][]string{
		"/openapi/v2": {"v1beta1.Flunder", "v1.DeleteOptions", "v1.Status"},
		"/openapi/v3/apis/wardle.example.com/v1beta1": {"v1beta1.Flunder", "v1.DeleteOptions"},
		"/openapi/v3/apis/apiextensions.k8s.io/v1":    {"v1.CustomResourceDefinition"},
	} {
		document, err := client.RESTClient().Get().AbsPath(path).Do(t.Context()).Raw()
		for _, definition := range definitions {
			if err != nil || !strings.Contains(string(document), definition+`":{`) {
				t.Errorf("%s lacks %s: %v", path, definition, err)
			}
		}
	}
	root, err := client.RESTClient().Get().AbsPath("/").Do(t.Context()).Raw()
	if err != nil || strings.Contains(string(root), `"/api"`) {
		t.Errorf("the paths of the server: %s, %v", root, err)
	}
}
