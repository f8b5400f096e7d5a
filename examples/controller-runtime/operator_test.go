package operator

import (
	"context"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// start starts a server for the test, runs the operator on it, and returns a client of the server.
func start(t *testing.T) client.Client {
	t.Helper()
	// The manager registers the handlers of the webhooks in mux. The fixture (package miniapitest) serves mux.
	mux := http.NewServeMux()
	srv := miniapitest.Start(t,
		miniapitest.WithCRDs("config/crd"),
		miniapitest.WithWebhook("/", mux),
		miniapitest.WithWebhookManifests("config/webhook"),
	)
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(srv.Config(), ctrl.Options{
		Scheme:        scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Port: -1, WebhookMux: mux}),
		// Names of controllers must be unique in a process, and every test starts a controller with the same name.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := SetUp(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() { // the manager must end before the server
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(srv.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func website(name string, replicas int32) *Website {
	return &Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       WebsiteSpec{Image: "nginx", Replicas: replicas},
	}
}

// The controller makes a deployment for a website, with the default number of replicas.
func TestDeployment(t *testing.T) {
	t.Parallel()
	c := start(t)
	if err := c.Create(t.Context(), website("blog", 0)); err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "blog"}, deployment)
		return last == nil, client.IgnoreNotFound(last)
	}); err != nil {
		t.Fatalf("%v; the last answer: %v", err, last)
	}
	if got := *deployment.Spec.Replicas; got != 2 {
		t.Errorf("want 2 replicas, got %d", got)
	}
}

// The validating webhook refuses too many replicas.
func TestTooManyReplicas(t *testing.T) {
	t.Parallel()
	if err := start(t).Create(t.Context(), website("shop", 11)); !apierrors.IsForbidden(err) {
		t.Errorf("want the website to be refused, got %v", err)
	}
}

// A website that is created in version v1alpha1 can be read in v1, with the default number of replicas.
func TestEarlierVersion(t *testing.T) {
	t.Parallel()
	c := start(t)
	earlier := &EarlierWebsite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "blog"},
		Spec:       EarlierWebsiteSpec{Image: "nginx"},
	}
	if err := c.Create(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	now := &Website{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(earlier), now); err != nil {
		t.Fatal(err)
	}
	if earlier.Spec.Copies != 2 || now.Spec.Replicas != 2 {
		t.Errorf("want 2 replicas, got %d copies, %d replicas", earlier.Spec.Copies, now.Spec.Replicas)
	}
}
