package integration_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If a review is in progress when the server stops, the request is completed, and the client gets the result.
func TestStoppingAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		protocols    []string
	}{
		{"HTTP/2", "answers of several requests share a connection, which the client is told to leave", []string{"h2"}},
		{"HTTP/1.1", "the connection of an answered request would be kept otherwise", []string{"http/1.1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t)
			// After the webhooks have answered, the server itself must write the status of this quota by a request,
			// although it is stopping.
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("10")},
			}}
			quota = must(srv.Client().CoreV1().ResourceQuotas("default").Create(t.Context(), quota, metav1.CreateOptions{}))(t)
			quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}}
			must(srv.Client().CoreV1().ResourceQuotas("default").UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}))(t)
			asked, answer := make(chan struct{}), make(chan struct{})
			// The test serves the webhook itself, because the fixture ends its handlers a second after a stop begins.
			own := must(newAuthority())(t)
			port := own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-answer
				allow().ServeHTTP(w, r)
			}), "localhost")
			hook := validating("wait", nil, timeoutSeconds(30), at(admissionregistrationv1.WebhookClientConfig{
				URL: new(fmt.Sprintf("https://localhost:%d", port)), CABundle: own.pem,
			}))
			configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: "wait"},
				Webhooks:   []admissionregistrationv1.ValidatingWebhook{hook.validating()},
			}
			must(srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}))(t)

			config := srv.Config()
			config.NextProtos = test.protocols
			client := must(kubernetes.NewForConfig(config))(t)
			created := make(chan error)
			names := []string{"a", "b", "c"}
			for _, name := range names {
				go func() {
					object := thing()
					object.Name = name
					_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
					created <- err
				}()
				<-asked
			}
			stopped := make(chan error, 1)
			go func() { stopped <- srv.Stop() }()
			ok(t, noLongerListening(t.Context(), config.Host[len("https://"):]))
			close(answer)
			for range names {
				if err := <-created; err != nil {
					t.Errorf("%s: want the object to be created, got %v", test.reason, err)
				}
			}
			ok(t, <-stopped)
		})
	}
}

// noLongerListening waits until a server refuses connections.
func noLongerListening(ctx context.Context, address string) error {
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s still takes connections: %w", address, err)
	}
	return nil
}
