package webhook

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest"
)

func TestOwners(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t,
		miniapitest.WithWebhook("/validate", Handler()),
		miniapitest.WithWebhookManifests("config/webhook.yaml"),
	)
	namespaces := srv.Client().CoreV1().Namespaces()

	owned := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "owned", Labels: map[string]string{"owner": "me"}}}
	if _, err := namespaces.Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Errorf("a namespace with an owner: %v", err)
	}

	orphan := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "orphan"}}
	if _, err := namespaces.Create(t.Context(), orphan, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want a namespace without an owner to be refused, got %v", err)
	}
}

// The handler follows the protocol of admission webhooks, and its configuration follows good practice.
func TestConformance(t *testing.T) {
	t.Parallel()
	webhooktest.Handler(t, Handler(), webhooktest.Configuration("config/webhook.yaml"))
}
