package integration_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// place is the namespace and name of a review.
type place struct{ Namespace, Name string }

// The namespace in a review is the namespace of the object. For a Namespace, it is the name of the object, unless the
// name is generated later. Other cluster-scoped objects have none.
func TestNamespaceOfTheRequest(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	asked := on("*", "v1", "namespaces/*", "nodes", "secrets")
	recorder := install(t, srv, mutating("mutate", allow(), asked), validating("validate", allow(), asked))
	namespace := func() *corev1.Namespace { return &corev1.Namespace{ObjectMeta: named("a")} }
	node := func() *corev1.Node { return &corev1.Node{ObjectMeta: named("a")} }
	labels := []byte(`{"metadata":{"labels":{"l":"v"}}}`)
	for _, step := range []struct {
		name, reason string
		do           func(context.Context, kubernetes.Interface) error
		want         place
	}{
		{"create a namespace", "only the object has the name of the new namespace", func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Namespaces().Create(ctx, namespace(), metav1.CreateOptions{})
			return err
		}, place{"a", "a"}},
		{"update a namespace", "its name is in the path", func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Namespaces().Update(ctx, namespace(), metav1.UpdateOptions{})
			return err
		}, place{"a", "a"}},
		{"patch a namespace", "its name is in the path", func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Namespaces().Patch(ctx, "a", types.MergePatchType, labels, metav1.PatchOptions{})
			return err
		}, place{"a", "a"}},
		{"update the status of a namespace", "a subresource has the namespace of its resource", func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Namespaces().UpdateStatus(ctx, namespace(), metav1.UpdateOptions{})
			return err
		}, place{"a", "a"}},
		{"finalize a namespace", "a subresource has the namespace of its resource", func(ctx context.Context, c kubernetes.Interface) error {
			held := namespace()
			held.Spec.Finalizers = []corev1.FinalizerName{"kubernetes"}
			_, err := c.CoreV1().Namespaces().Finalize(ctx, held, metav1.UpdateOptions{})
			return err
		}, place{"a", "a"}},
		{"create in a namespace", "an object is in the namespace of the path", func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets("a").Create(ctx, &corev1.Secret{ObjectMeta: named("s")}, metav1.CreateOptions{})
			return err
		}, place{"a", "s"}},
		{"delete in a namespace", "an object is in the namespace of the path", func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().Secrets("a").Delete(ctx, "s", metav1.DeleteOptions{})
		}, place{"a", "s"}},
		{"delete a namespace", "its name is in the path", func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().Namespaces().Delete(ctx, "a", metav1.DeleteOptions{})
		}, place{"a", "a"}},
		{"create a node", "a node is in no namespace", func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Create(ctx, node(), metav1.CreateOptions{})
			return err
		}, place{"", "a"}},
		{"update a node", "a node is in no namespace", func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Update(ctx, node(), metav1.UpdateOptions{})
			return err
		}, place{"", "a"}},
		{"delete a node", "a node is in no namespace", func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().Nodes().Delete(ctx, "a", metav1.DeleteOptions{})
		}, place{"", "a"}},
	} {
		recorder.Reset()
		ok(t, step.do(t.Context(), srv.Client()))
		if diff := cmp.Diff(map[string]place{"/mutate": step.want, "/validate": step.want}, placesOf(recorder)); diff != "" {
			t.Errorf("%s: %s: where the request is (-want +got):\n%s", step.name, step.reason, diff)
		}
	}

	recorder.Reset()
	created := must(srv.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-"}}, metav1.CreateOptions{}))(t)
	if diff := cmp.Diff(map[string]place{"/mutate": {}, "/validate": {Name: created.Name}}, placesOf(recorder)); diff != "" {
		t.Errorf("create a namespace whose name is generated: where the request is (-want +got):\n%s", diff)
	}
}

// placesOf returns the namespace and the name in the review of each webhook.
func placesOf(recorder *miniapitest.Recorder) map[string]place {
	places := map[string]place{}
	for _, review := range recorder.Reviews() {
		places[review.Path] = place{review.Request.Namespace, review.Request.Name}
	}
	return places
}
