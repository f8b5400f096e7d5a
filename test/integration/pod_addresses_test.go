package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Nothing has the address of a pod that pretends. A request to the pod reaches the address that an annotation names, and
// otherwise fails at once, with the reason.
func TestAddressesOfPodsThatPretend(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(web.Close)
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	client := srv.Client()
	pods := client.CoreV1().Pods("default")
	for name, address := range map[string]string{"web": web.Listener.Addr().String(), "bare": ""} {
		pod := podOn(name, "")
		pod.Labels = map[string]string{"app": name}
		if address != "" {
			pod.Annotations["miniapi.dev/port-forward.80"] = address
		}
		must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
		must(client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{}))(t)
		eventuallyInState(t, pods, name, "Running running/0 ready")
	}
	const pretends = "pod bare only pretends to run: name the address for port 80 by the annotation miniapi.dev/port-forward"
	for _, test := range []struct {
		name, reason, object, want string
	}{
		{"pod", "the annotation names the address", "pods/web:80", "hello"},
		{"service", "its pod has the annotation", "services/web:80", "hello"},
		{"pod without an address", "nothing listens", "pods/bare:80", pretends},
		{"service without an address", "nothing listens", "services/bare:80", pretends},
	} {
		eventually(t, func(ctx context.Context) error {
			got, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default", test.object, "proxy").DoRaw(ctx)
			if !strings.Contains(string(got)+fmt.Sprint(err), test.want) {
				return fmt.Errorf("%s: want %q, got %q and %w: %s", test.name, test.want, got, err, test.reason)
			}
			return nil
		})
	}

	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bare"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "bare.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "bare", Port: new(int32(80))},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{}))(t)
	eventually(t, func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "bare.example.com") || !strings.Contains(err.Error(), pretends) {
			return fmt.Errorf("want a failed call with %q, got %w", pretends, err)
		}
		return nil
	})
}
