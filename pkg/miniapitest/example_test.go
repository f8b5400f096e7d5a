package miniapitest_test

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An example function has no testing.TB, so the examples call New and Stop instead of Start.
func ExampleNew() {
	ctx := context.Background()
	srv, err := miniapitest.New(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = srv.Stop() }()

	namespaces, err := srv.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, namespace := range namespaces.Items {
		fmt.Println(namespace.Name)
	}
	// Output:
	// default
	// kube-node-lease
	// kube-public
	// kube-system
}

// The server calls the handlers of WithWebhook in place of the service that the configuration names.
func ExampleWithWebhookManifests() {
	ctx := context.Background()
	srv, err := miniapitest.New(ctx,
		miniapitest.WithWebhook("/mutate", miniapitest.AdmissionHandler(
			func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return miniapitest.Patched(miniapitest.Add("/metadata/labels", map[string]string{"set-at": string(r.Operation)}))
			})),
		miniapitest.WithWebhook("/validate", miniapitest.AdmissionHandler(
			func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				if r.Name == "forbidden" {
					return miniapitest.Denied("it is called so")
				}
				return miniapitest.Allowed()
			})),
		miniapitest.WithWebhookManifests("testdata/webhooks"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = srv.Stop() }()

	for _, name := range []string{"settings", "forbidden"} {
		created, err := srv.Client().CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		fmt.Println(created.Labels, err)
	}
	// Output:
	// map[set-at:CREATE] <nil>
	// map[] admission webhook "refuse.example.com" denied the request: it is called so
}

// Reset restores the objects of the start, so that tests can share a server.
func ExampleServer_Reset() {
	ctx := context.Background()
	srv, err := miniapitest.New(ctx, miniapitest.WithObjects(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"colour": "blue"}},
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = srv.Stop() }()
	maps := srv.Client().CoreV1().ConfigMaps("default")

	newest := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "more"}}
	_, createErr := maps.Create(ctx, newest, metav1.CreateOptions{})
	deleteErr := maps.Delete(ctx, "settings", metav1.DeleteOptions{})
	if err := errors.Join(createErr, deleteErr, srv.Reset()); err != nil {
		fmt.Println(err)
		return
	}
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range list.Items {
		fmt.Println(m.Name, m.Data)
	}
	// Output: settings map[colour:blue]
}
