package integration_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// migrate creates a migration of a resource, and returns it when it no longer runs.
func migrate(t *testing.T, srv *miniapitest.Server, resource, group string) *storagemigrationv1.StorageVersionMigration {
	t.Helper()
	migrations := srv.Client().StoragemigrationV1().StorageVersionMigrations()
	m := must(migrations.Create(t.Context(), &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "migration-"},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: group, Resource: resource}},
	}, metav1.CreateOptions{}))(t)
	eventually(t, func(ctx context.Context) error {
		var err error
		if m, err = migrations.Get(ctx, m.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if !slices.ContainsFunc(m.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Running" && c.Status == metav1.ConditionFalse }) {
			return fmt.Errorf("the migration runs: %v", m.Status.Conditions)
		}
		return nil
	})
	return m
}

// outcomeOf returns the conditions of a migration without their times.
func outcomeOf(m *storagemigrationv1.StorageVersionMigration) []string {
	var all []string
	for _, c := range m.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return all
}

// After the storage version of a definition has changed, a migration writes its objects again, and the definition says
// that no other version is stored.
func TestStorageMigrationOfCustomResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("storage-version-migrator-controller"))
	define(t, srv, "widgets", "Widget", "v1", "v2")
	widgets := must(dynamic.NewForConfig(srv.Config()))(t).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace("default")
	before := must(widgets.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": map[string]any{"size": int64(1)},
	}}, metav1.CreateOptions{}))(t)
	definitions := must(apiextensions.NewForConfig(srv.Config()))(t).CustomResourceDefinitions()
	must(definitions.Patch(t.Context(), "widgets.example.com", types.JSONPatchType, []byte(`[
		{"op": "replace", "path": "/spec/versions/0/storage", "value": false}, {"op": "replace", "path": "/spec/versions/1/storage", "value": true}
	]`), metav1.PatchOptions{}))(t)

	m := migrate(t, srv, "widgets", "example.com")
	if diff := cmp.Diff([]string{
		"Running=False MigrationCompleted: Migration completed", "Succeeded=True StorageVersionMigrationSucceeded: Migration completed",
	}, outcomeOf(m)); diff != "" || m.Status.ResourceVersion == "" {
		t.Errorf("a migration ends with a resource version %q and these conditions (-want +got):\n%s", m.Status.ResourceVersion, diff)
	}
	after := must(widgets.Get(t.Context(), "w", metav1.GetOptions{}))(t)
	if after.GetResourceVersion() == before.GetResourceVersion() || after.GetGeneration() != before.GetGeneration() {
		t.Errorf("the object must be written again without a change: %v, then %v", before, after)
	}
	definition := must(definitions.Get(t.Context(), "widgets.example.com", metav1.GetOptions{}))(t)
	if diff := cmp.Diff([]string{"v2"}, definition.Status.StoredVersions); diff != "" {
		t.Errorf("stored versions (-want +got):\n%s", diff)
	}
	for _, c := range definition.Status.Conditions {
		if got := string(c.Status) + " " + c.Reason + ": " + c.Message; c.Type == "StorageMigrating" &&
			got != "False MigrationSucceeded: The migration has succeeded and the stored versions have been updated" {
			t.Errorf("condition StorageMigrating %s", got)
		}
	}
}

// A migration of a resource whose objects are stored in the present version changes nothing. One of a resource that has
// no objects fails.
func TestStorageMigrationOfBuiltInResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("storage-version-migrator-controller"))
	maps := srv.Client().CoreV1().ConfigMaps("default")
	before := must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{}))(t)
	for _, test := range []struct {
		name, reason, group, resource string
		want                          string
	}{
		{"stored in the present version", "a patch without a change is no write", "", "configmaps", "Succeeded=True StorageVersionMigrationSucceeded: Migration completed"},
		{"without objects", "nothing can be written again", "authentication.k8s.io", "tokenreviews",
			`Failed=True StorageVersionMigrationFailed: resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: [update patch list]`},
	} {
		if conditions := outcomeOf(migrate(t, srv, test.resource, test.group)); !slices.Contains(conditions, test.want) {
			t.Errorf("%s: want %s, got %v: %s", test.name, test.want, conditions, test.reason)
		}
	}
	if after := must(maps.Get(t.Context(), "c", metav1.GetOptions{}))(t); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the object has been written: resource version %s, then %s", before.ResourceVersion, after.ResourceVersion)
	}
}
