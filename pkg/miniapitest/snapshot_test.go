package miniapitest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(1)},
	}}
}

// Reset restores new, changed and deleted objects, including custom resources, and watches get events.
func TestReset(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := miniapitest.Start(t, miniapitest.WithManifests("testdata/widgets"))
	client, dynamic := srv.Client(), srv.DynamicClient().Resource(widgets).Namespace("default")

	kept, err := dynamic.Get(ctx, "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := dynamic.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := dynamic.Watch(ctx, metav1.ListOptions{ResourceVersion: before.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(dynamic.Create(ctx, widget("new"), metav1.CreateOptions{}))
	changed := kept.DeepCopy()
	must(nil, unstructured.SetNestedField(changed.Object, int64(9), "spec", "size"))
	must(dynamic.Update(ctx, changed, metav1.UpdateOptions{}))
	must(nil, dynamic.Delete(ctx, "doomed", metav1.DeleteOptions{}))
	held := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new", Finalizers: []string{"example.com/held"}}}
	must(client.CoreV1().Namespaces().Create(ctx, held, metav1.CreateOptions{}))
	must(nil, client.CoreV1().Namespaces().Delete(ctx, "new", metav1.DeleteOptions{}))

	if err := srv.Reset(); err != nil {
		t.Fatal(err)
	}
	back, err := dynamic.Get(ctx, "kept", metav1.GetOptions{})
	must(back, err)
	back.SetResourceVersion(kept.GetResourceVersion())
	if diff := cmp.Diff(kept, back); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	_, err = client.CoreV1().ConfigMaps("new").Create(ctx, configMap("homeless"), metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("want the namespace to be gone, got %v", err)
	}
	// The order of the events varies.
	want := []string{"ADDED new", "MODIFIED kept 9", "DELETED doomed", "DELETED new", "MODIFIED kept 1", "ADDED doomed"}
	got := events(t, w, len(want))
	slices.Sort(got[3:])
	slices.Sort(want[3:])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// events reads n events.
func events(t *testing.T, w watch.Interface, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for len(got) < n {
		select {
		case event := <-w.ResultChan():
			u := event.Object.(*unstructured.Unstructured)
			line := string(event.Type) + " " + u.GetName()
			if event.Type == watch.Modified {
				size, _, _ := unstructured.NestedInt64(u.Object, "spec", "size")
				line += fmt.Sprint(" ", size)
			}
			got = append(got, line)
		case <-ctx.Done():
			t.Fatalf("got only %q", got)
		}
	}
	return got
}

// Reset deletes a new definition with its objects, and restores a deleted definition with its objects.
func TestResetDefinitions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := miniapitest.Start(t)
	empty, err := srv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Apply(ctx, "testdata/widgets"); err != nil {
		t.Fatal(err)
	}
	full, err := srv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	dynamic := srv.DynamicClient().Resource(widgets).Namespace("default")
	for range 3 {
		if err := srv.Restore(empty); err != nil {
			t.Fatal(err)
		}
		if _, err := dynamic.Get(ctx, "kept", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("want the resource to be gone, got %v", err)
		}
		if err := srv.Restore(full); err != nil {
			t.Fatal(err)
		}
		if _, err := dynamic.Get(ctx, "kept", metav1.GetOptions{}); err != nil {
			t.Fatalf("want the resource to be back: %v", err)
		}
	}
}

// Reset restores a definition that is being deleted, with its objects.
func TestResetOfDeletion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := miniapitest.Start(t, miniapitest.WithManifests("testdata/widgets"))
	definitions := srv.DynamicClient().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	dynamic := srv.DynamicClient().Resource(widgets).Namespace("default")
	for range 2 { // an earlier version failed in some of the runs
		list, err := dynamic.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 2 {
			t.Fatalf("want two widgets, got %v, error %v", list, err)
		}
		definition, err := definitions.Get(ctx, "widgets.example.com", metav1.GetOptions{})
		if err != nil || definition.GetDeletionTimestamp() != nil {
			t.Fatalf("want the definition, got %v, error %v", definition, err)
		}
		if err := definitions.Delete(ctx, "widgets.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := srv.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// Definitions whose objects finalizers hold don't delay a Reset, however many there are.
func TestResetOfHeldDeletions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := miniapitest.Start(t)
	definitions := srv.DynamicClient().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	const n = 6 // more than the controllers delete at a time
	for i := range n {
		kind := fmt.Sprint("Held", i)
		plural := fmt.Sprint("held", i)
		definition := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + ".example.com"},
			"spec": map[string]any{
				"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": plural},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
			},
		}}
		if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		held := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": "held", "finalizers": []any{"example.com/held"}},
		}}
		if _, err := srv.DynamicClient().Resource(widgets.GroupVersion().WithResource(plural)).Namespace("default").Create(ctx, held, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	full, err := srv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := definitions.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := srv.Restore(full); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		held, err := srv.DynamicClient().Resource(widgets.GroupVersion().WithResource(fmt.Sprint("held", i))).Namespace("default").Get(ctx, "held", metav1.GetOptions{})
		if err != nil || held.GetDeletionTimestamp() != nil {
			t.Errorf("want it back, got %v, error %v", held, err)
		}
	}
	if err := srv.Reset(); err != nil {
		t.Fatal(err)
	}
	left, err := definitions.List(ctx, metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("want no definitions, got %v, error %v", left, err)
	}
}

// Reset finds all objects, with any prefix of the keys in etcd.
func TestResetWithPrefix(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, prefix string }{
		{"none", "keys begin with a slash all the same", ""},
		{"root", "it is no other", "/"},
		{"relative", "the store makes it absolute", "foo"},
		{"deep", "it has parts", "/a/b/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			srv := miniapitest.Start(t, miniapitest.WithManifests("testdata/widgets"),
				miniapitest.WithFlags("--etcd-prefix="+test.prefix))
			dynamic := srv.DynamicClient().Resource(widgets).Namespace("default")
			if _, err := dynamic.Create(ctx, widget("new"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := srv.Reset(); err != nil {
				t.Fatal(err)
			}
			if list, err := dynamic.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
				t.Errorf("want what was there at the start, though %s: got %v, error %v", test.reason, list, err)
			}
		})
	}
}

// After Restore, the parameters of policies are in force, including custom resources.
func TestRestoreOfParameters(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := miniapitest.Start(t, miniapitest.WithManifests("testdata/widgets", "testdata/parameters"))
	parameters := srv.DynamicClient().Resource(widgets).Namespace("default")
	check := func(when string, admitted bool) {
		t.Helper()
		_, err := srv.Client().CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if admitted != (err == nil) {
			t.Fatalf("%s: want a config map to be admitted: %t, got %v", when, admitted, err)
		}
	}
	for range 3 { // an earlier version failed in some of the runs
		check("at the start", false)
		if _, err := parameters.Patch(ctx, "kept", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		check("with another parameter", true)
		if err := srv.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// After Restore, a changed definition is in force in its old form, although its generation is lower than or equal to
// the changed definition's.
func TestRestoreChangedDefinition(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := miniapitest.Start(t, miniapitest.WithCRDs("testdata/widgets"))
	definitions := srv.DynamicClient().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	change := func(constraint string) {
		t.Helper()
		patch := fmt.Sprintf(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/%s","value":2}]`, constraint)
		if _, err := definitions.Patch(ctx, "widgets.example.com", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, refused bool) {
		t.Helper()
		_, err := srv.DynamicClient().Resource(widgets).Namespace("default").
			Create(ctx, widget("small"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) != refused || !refused && err != nil {
			t.Fatalf("%s: want a widget of size 1 to be refused: %t, got %v", when, refused, err)
		}
	}
	restore := func(snapshot *miniapitest.Snapshot) {
		t.Helper()
		if err := srv.Restore(snapshot); err != nil {
			t.Fatal(err)
		}
	}
	start, err := srv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	change("minimum")
	least, err := srv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // an earlier version failed in some of the runs
		check("with a minimum", true)
		restore(start)
		check("as it was at the start", false)
		change("maximum")
		check("with a maximum", false)
		restore(least)
	}
}

// Restore refuses a snapshot of another server. A stopped server restores nothing.
func TestRestoreOfAnother(t *testing.T) {
	t.Parallel()
	other, err := miniapitest.Start(t).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	srv := miniapitest.Start(t)
	if err := srv.Restore(other); err == nil || !strings.Contains(err.Error(), "another server's") {
		t.Errorf("want an error, got %v", err)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Reset(); err == nil || !strings.Contains(err.Error(), "the server has been stopped") {
		t.Errorf("want to be told that the server is gone, got %v", err)
	}
}

// After Reset, a webhook of the test isn't called any more.
func TestResetWebhooks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := miniapitest.Start(t)
	client := srv.Client()
	webhook := srv.Webhook("/validate", miniapitest.AdmissionHandler(refuseBad))
	for i := range 10 {
		_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, refusing(webhook.ClientConfig()), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("bad"), metav1.CreateOptions{}); err == nil {
			t.Fatalf("round %d: the webhook wasn't asked", i)
		}
		if err := srv.Reset(); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("bad"), metav1.CreateOptions{}); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

func refusing(clientConfig admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "refuse"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "refuse.example.com",
			ClientConfig: clientConfig,
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}
