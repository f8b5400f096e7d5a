package operator

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const configuration = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: operator}
webhooks:
- name: config-maps.example.com
  clientConfig: {service: {namespace: system, name: webhook-service, path: /validate}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`

// The controller and the webhook work with a server of package miniapitest.
func TestOperator(t *testing.T) {
	srv := miniapitest.Start(t,
		miniapitest.WithWebhook("/validate", Webhook()),
		miniapitest.WithWebhookManifestsFS(fstest.MapFS{"webhook.yaml": {Data: []byte(configuration)}}, "webhook.yaml"))
	ctx, stop := context.WithCancel(context.Background())
	mgr, err := ctrl.NewManager(srv.Config(), ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err == nil {
		err = SetUp(mgr)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	maps := srv.Client().CoreV1().ConfigMaps("default")
	named := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	if _, err := maps.Create(ctx, named("forbidden"), metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "it is called so") {
		t.Errorf("want the webhook to refuse, got %v", err)
	}
	if _, err := maps.Create(ctx, named("settings"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		settings, err := maps.Get(ctx, "settings", metav1.GetOptions{})
		return err == nil && settings.Data["seen"] == "true", err
	}); err != nil {
		t.Errorf("the controller hasn't seen the config map: %v", err)
	}
}
