package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If the server can't call a webhook, the client gets the reason. The cases failure.* and service.* of the conformance
// suite test the effects of a failed call, and this test compares the message. TestBadResponses is about webhooks that
// answer wrongly.
func TestMessagesOfFailedCalls(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const nobody = "127.0.0.1:1"
	hangUp := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// At this panic, net/http closes the connection and logs nothing.
		panic(http.ErrAbortHandler)
	})
	for _, tc := range []struct {
		name, reason string
		handler      http.Handler
		config       admissionregistrationv1.WebhookClientConfig
		want         string
	}{
		{"no listener", "no connection is made", nil, admissionregistrationv1.WebhookClientConfig{URL: new("https://" + nobody + "/hook")},
			fmt.Sprintf(`failed to call webhook: Post "https://%s/hook?timeout=10s": dial tcp %s: connect: connection refused`, nobody, nobody)},
		{"no such service", "a missing service has no address", nil, admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "missing"},
		}, `failed to call webhook: Post "https://missing.default.svc:443/?timeout=10s": service "missing" not found`},
		{"no such port", "the service doesn't have the port", nil, admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "kubernetes", Port: port(8443)},
		}, `failed to call webhook: Post "https://kubernetes.default.svc:8443/?timeout=10s": no service port 8443 found for service "kubernetes"`},
		{"the connection ends", "the webhook sends no response", hangUp, admissionregistrationv1.WebhookClientConfig{},
			`failed to call webhook: Post "https://`},
	} {
		for _, kind := range []func(string, http.Handler, ...change) hook{mutating, validating} {
			t.Run(tc.name, func(t *testing.T) {
				install(t, srv, kind("failing", tc.handler, at(tc.config)))
				err := createThing(t, srv)
				want := `Internal error occurred: failed calling webhook "failing.example.com": ` + tc.want
				if !apierrors.IsInternalError(err) || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%s:\nwant %s\ngot  %v", tc.reason, want, err)
				}
			})
		}
	}
}

// A server starts although a broken webhook refuses everything, so that a client can remove the webhook. The server
// then repeats its own writes that were refused.
func TestStartWithABrokenWebhook(t *testing.T) {
	t.Parallel()
	data := miniapitest.WithDataDir(t.TempDir())
	start := func() (*miniapitest.Server, kubernetes.Interface) {
		srv := miniapitest.Start(t, data)
		return srv, srv.Client()
	}
	first, client := start()
	broken := validating("broken", nil, everything, failurePolicy(admissionregistrationv1.Fail), at(admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "missing"},
	}))
	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named("broken"), Webhooks: []admissionregistrationv1.ValidatingWebhook{broken.validating()},
	}, metav1.CreateOptions{}))(t)
	ok(t, first.Stop())

	second, client := start()
	if err := createConfigMap(t.Context(), client, "m", nil); !apierrors.IsInternalError(err) {
		t.Fatalf("want the webhook to be called after the start, got %v", err)
	}
	ok(t, client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "broken", metav1.DeleteOptions{}))
	ok(t, createConfigMap(t.Context(), client, "m", nil))
	eventually(t, func(ctx context.Context) error {
		service, err := client.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if target := service.Spec.Ports[0].TargetPort.String(); !strings.HasSuffix(second.Config().Host, ":"+target) {
			return fmt.Errorf("want the service of the API to target the port of %s, got the port %s", second.Config().Host, target)
		}
		return nil
	})
}

// If a webhook refuses one of the objects that the server creates at its start, the server creates the other objects.
func TestStartWithAWebhookThatRefuses(t *testing.T) {
	t.Parallel()
	data := miniapitest.WithDataDir(t.TempDir())
	first := miniapitest.Start(t, data)
	client := first.Client()
	roles := must(client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{}))(t)
	ok(t, client.RbacV1().ClusterRoles().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	ok(t, client.CoreV1().ConfigMaps(metav1.NamespaceSystem).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	refusing := validating("refusing", nil, on("CREATE", "v1", "configmaps"), failurePolicy(admissionregistrationv1.Fail), at(admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "missing"},
	}))
	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named("refusing"), Webhooks: []admissionregistrationv1.ValidatingWebhook{refusing.validating()},
	}, metav1.CreateOptions{}))(t)
	ok(t, first.Stop())

	client = miniapitest.Start(t, data).Client()
	again := must(client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{}))(t)
	if len(again.Items) != len(roles.Items) {
		t.Errorf("%d of %d cluster roles are there", len(again.Items), len(roles.Items))
	}
	ok(t, client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "refusing", metav1.DeleteOptions{}))
	eventually(t, func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
		return err
	})
}
