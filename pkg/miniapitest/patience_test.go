package miniapitest_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// asking returns a webhook configuration for ConfigMaps.
func asking(clientConfig admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.ValidatingWebhookConfiguration {
	none, timeout := admissionregistrationv1.SideEffectClassNone, int32(30)
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "ask"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "ask.example.com", ClientConfig: clientConfig, SideEffects: &none, TimeoutSeconds: &timeout,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"}},
			}},
		}},
	}
}

// Starts that wait for webhooks don't delay the starts of other servers.
func TestWaitingStarts(t *testing.T) {
	t.Parallel()
	many := 2*runtime.GOMAXPROCS(0) + 1 // more starts than can run at the same time
	waiting, answer := make(chan struct{}, many), make(chan struct{})
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		waiting <- struct{}{}
		<-answer
	}))
	t.Cleanup(elsewhere.Close)
	address := elsewhere.URL + "/slow"
	slow := asking(admissionregistrationv1.WebhookClientConfig{
		URL:      &address,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: elsewhere.Certificate().Raw}),
	})

	const limit = 5 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var starts sync.WaitGroup
	starts.Add(many)
	for range many {
		go func() {
			defer starts.Done()
			srv, err := miniapitest.New(ctx, miniapitest.WithObjects(slow.DeepCopy()), miniapitest.WithReachTimeout(limit))
			if err == nil {
				err = srv.Stop()
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
	for i := range many {
		select {
		case <-waiting:
		case <-ctx.Done():
			t.Errorf("%d starts wait for their webhook, want %d: %v", i, many, context.Cause(ctx))
		}
	}
	miniapitest.Start(t)
	close(answer)
	starts.Wait()
}

// A handler that is running when Stop is called can still answer.
func TestStopLetsHandlersAnswer(t *testing.T) {
	t.Parallel()
	type event struct {
		Stage          string
		ResponseStatus metav1.Status
	}
	policy := map[string]any{"rules": []any{map[string]any{
		"level": "Metadata", "verbs": []string{"create"}, "namespaces": []string{"default"}, "omitStages": []string{"RequestReceived"},
		"resources": []any{map[string]any{"resources": []string{"configmaps"}}},
	}}}
	answers, isAsked := make(chan metav1.Status, 1), make(chan struct{})
	var address *url.URL
	srv := miniapitest.Start(t,
		miniapitest.WithAudit(policy, func(e *event) { answers <- e.ResponseStatus }),
		miniapitest.WithWebhookService("system", "webhook-service"), // the server calls a service by HTTP/1.1
		miniapitest.WithWebhook("/validate", miniapitest.AdmissionHandler(func(ctx context.Context, _ *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			close(isAsked)
			stopping := func(ctx context.Context) (bool, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address.Host)
				if err != nil {
					return true, nil
				}
				return false, conn.Close()
			}
			if err := wait.PollUntilContextCancel(ctx, time.Millisecond, true, stopping); err != nil {
				t.Errorf("%s still takes connections: %v", address.Host, err)
			}
			return miniapitest.Allowed()
		})))
	srv.WaitForHandlers(time.Minute)
	var err error
	if address, err = url.Parse(srv.Config().Host); err != nil {
		t.Fatal(err)
	}
	client, path := srv.Client(), "/validate"
	service := &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "webhook-service", Path: &path}
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(context.Background(),
		asking(admissionregistrationv1.WebhookClientConfig{Service: service}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// The connection may end before the response, so the test reads the result from the audit log.
		_, _ = client.CoreV1().ConfigMaps("default").Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{})
	}()
	select {
	case <-isAsked:
	case <-ended:
		t.Fatal("the webhook wasn't asked")
	}
	if err := srv.Stop(); err != nil {
		t.Error(err)
	}
	<-ended
	if status := <-answers; status.Code != http.StatusCreated {
		t.Errorf("want the webhook's answer to count, got %v", status)
	}
}
