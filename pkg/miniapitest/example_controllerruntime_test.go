package miniapitest_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A manager of controller-runtime uses the server's Config. Its webhooks are handlers like any other.
func Example_controllerRuntime() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	srv, err := miniapitest.New(ctx,
		miniapitest.WithWebhook("/mutate", &admission.Webhook{Handler: admission.HandlerFunc(
			func(context.Context, admission.Request) admission.Response { return admission.Allowed("") })}),
		miniapitest.WithWebhook("/validate", &admission.Webhook{Handler: admission.HandlerFunc(
			func(_ context.Context, r admission.Request) admission.Response {
				return admission.ValidationResponse(r.Name != "forbidden", "it is called so")
			})}),
		miniapitest.WithWebhookManifests("testdata/webhooks"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = srv.Stop() }()

	mgr, err := ctrl.NewManager(srv.Config(), ctrl.Options{
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // names are unique in the process
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	reconciled := make(chan string, 1)
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(
		func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			reconciled <- r.Name
			return reconcile.Result{}, nil
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()

	for _, name := range []string{"forbidden", "settings"} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if err := mgr.GetClient().Create(ctx, object); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(<-reconciled)
	stop()
	fmt.Println(<-stopped)
	// Output:
	// admission webhook "refuse.example.com" denied the request: it is called so
	// settings
	// <nil>
}
