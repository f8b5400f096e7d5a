package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An object that is being deleted stays as long as it has a finalizer, even if a client writes to it by any endpoint.
// When the last finalizer is removed, the object is deleted. A dry run removes no finalizer.
func TestTerminatingObjectsStay(t *testing.T) {
	t.Parallel()
	const hold = "example.com/hold"
	w := unreviewed(t, miniapitest.Start(t))
	for _, gvr := range w.order {
		served := w.served[gvr]
		if strings.Contains(gvr.Resource, "/") || !slices.Contains(served.Verbs, "delete") || !slices.Contains(served.Verbs, "update") {
			continue
		}
		t.Run(strings.ReplaceAll(w.name(gvr), "/", " "), func(t *testing.T) {
			if gvr.Resource != "limitranges" { // a LimitRange would set requests of the pod whose test runs at the same time
				t.Parallel()
			}
			o := w.object(t, gvr)
			o.SetFinalizers([]string{hold})
			client := w.resource(gvr)
			must(client.Create(t.Context(), o, metav1.CreateOptions{}))(t)
			ok(t, client.Delete(t.Context(), o.GetName(), atOnce()))
			stays := func(after string) {
				t.Helper()
				got, err := client.Get(t.Context(), o.GetName(), metav1.GetOptions{})
				if err != nil || got.GetDeletionTimestamp() == nil || !slices.Contains(got.GetFinalizers(), hold) {
					t.Fatalf("after %s: want the object to be held, got %v, %v", after, got, err)
				}
			}
			stays("its deletion")
			for _, endpoint := range w.order {
				if endpoint.GroupVersion() != gvr.GroupVersion() || !slices.Contains(w.served[endpoint].Verbs, "update") ||
					endpoint != gvr && !strings.HasPrefix(endpoint.Resource, gvr.Resource+"/") || strings.HasSuffix(endpoint.Resource, "/proxy") {
					continue
				}
				for _, step := range w.holdingWrites(endpoint, o.GetName()) {
					what := step.name + " of " + endpoint.Resource
					if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return step.do(t) }); err != nil {
						t.Errorf("%s: %v", what, err)
					}
					stays(what)
				}
			}
			must(client.Patch(t.Context(), o.GetName(), types.MergePatchType, noFinalizers, metav1.PatchOptions{}))(t)
			if gvr.Resource == "namespaces" {
				return // other objects in the namespace delay it, too: see the cases namespace.stays.*
			}
			// A CustomResourceDefinition is gone only after its custom resources, so the test waits.
			gone(t, "the object without finalizers", func(ctx context.Context) (*unstructured.Unstructured, error) {
				return client.Get(ctx, o.GetName(), metav1.GetOptions{})
			})
		})
	}
}

var noFinalizers = []byte(`{"metadata":{"finalizers":null}}`)

// step is a request for an object.
type step struct {
	name string
	do   func(*testing.T) error
}

// holdingWrites returns the writes by an endpoint that keep the finalizers of an object.
func (w *walk) holdingWrites(endpoint schema.GroupVersionResource, name string) []step {
	client, sub, verbs := w.resource(endpoint), subresources(endpoint), w.served[endpoint].Verbs
	var steps []step
	for _, dryRun := range [][]string{nil, dry} {
		suffix := ""
		if dryRun != nil {
			suffix = " in a dry run"
		}
		update := func(change func(*unstructured.Unstructured)) func(*testing.T) error {
			return func(t *testing.T) error {
				var read []string
				if slices.Contains(verbs, "get") {
					read = sub
				}
				o, err := client.Get(t.Context(), name, metav1.GetOptions{}, read...)
				if err != nil {
					return err
				}
				change(o)
				_, err = client.Update(t.Context(), o, metav1.UpdateOptions{DryRun: dryRun}, sub...)
				return err
			}
		}
		steps = append(steps, step{"update" + suffix, update(func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(nil) })})
		if dryRun != nil {
			steps = append(steps, step{"update without finalizers" + suffix, update(func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })})
		}
		if !slices.Contains(verbs, "patch") {
			continue
		}
		patch := func(kind types.PatchType, content []byte) func(*testing.T) error {
			return func(t *testing.T) error {
				options := metav1.PatchOptions{DryRun: dryRun, FieldManager: "holder"}
				_, err := client.Patch(t.Context(), name, kind, content, options, sub...)
				return err
			}
		}
		steps = append(steps, step{"patch" + suffix, patch(types.MergePatchType, []byte(`{"metadata":{"labels":{"patched":"yes"}}}`))})
		if dryRun != nil {
			steps = append(steps, step{"patch without finalizers" + suffix, patch(types.MergePatchType, noFinalizers)})
		}
		r := w.served[endpoint]
		steps = append(steps, step{"apply" + suffix, patch(types.ApplyPatchType, fmt.Appendf(nil,
			`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}}`, groupVersion(r.Group, r.Version), r.Kind, name))})
	}
	return steps
}
