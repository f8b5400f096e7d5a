package integration_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A CustomResourceDefinition may be deleted and created again without one of its versions. Reads and watches then
// ignore objects that are stored in the missing version.
func TestVersionThatIsGone(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "gears", "Gear", "v2")
	must(resources(srv, "example.com/v2", "gears").Create(t.Context(), object("example.com/v2", "Gear", "old", nil), metav1.CreateOptions{}))(t)
	definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
	ok(t, definitions.Delete(t.Context(), "gears.example.com", metav1.DeleteOptions{}))
	gone(t, "the definition gears.example.com", func(ctx context.Context) (*unstructured.Unstructured, error) {
		return definitions.Get(ctx, "gears.example.com", metav1.GetOptions{})
	})

	define(t, srv, "gears", "Gear", "v1")
	gears := resources(srv, "example.com/v1", "gears")
	w := must(gears.Watch(t.Context(), metav1.ListOptions{}))(t)
	t.Cleanup(w.Stop)
	must(gears.Create(t.Context(), object("example.com/v1", "Gear", "new", nil), metav1.CreateOptions{}))(t)
	select {
	case e := <-w.ResultChan():
		if e.Type != watch.Added {
			t.Errorf("want to be told of the new gear, got %s %v", e.Type, e.Object)
		}
	case <-time.After(time.Minute):
		t.Error("nothing is told of the new gear")
	}
	if list := must(gears.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}))(t); len(list.Items) != 1 {
		t.Errorf("want one gear, got %v", list.Items)
	}
}
