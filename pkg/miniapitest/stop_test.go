package miniapitest_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// startAudited starts a server and returns the results of creates of config maps.
func startAudited(t *testing.T) (*miniapitest.Server, <-chan *metav1.Status) {
	t.Helper()
	policy := &auditv1.Policy{Rules: []auditv1.PolicyRule{{
		Level: auditv1.LevelMetadata, Verbs: []string{"create"}, Resources: []auditv1.GroupResources{{Resources: []string{"configmaps"}}},
		Namespaces: []string{"default"}, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
	}}}
	answers := make(chan *metav1.Status, 1)
	return miniapitest.Start(t,
		miniapitest.WithAudit(policy, func(event *auditv1.Event) { answers <- event.ResponseStatus }),
		miniapitest.WithWebhookService("system", "webhook-service"),
	), answers
}

// stopDuring stops a server during a call of a webhook. The webhook closes isAsked.
func stopDuring(t *testing.T, srv *miniapitest.Server, handler http.Handler, isAsked <-chan struct{}) {
	t.Helper()
	srv.Webhook("/validate", handler)
	configuration := refusingBy("system", "webhook-service", 443) // called by HTTP/1.1
	configuration.Webhooks[0].TimeoutSeconds = new(int32(30))
	client := srv.Client()
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// The connection may end before the response: the audit has the result.
		_, _ = client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("m"), metav1.CreateOptions{})
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
}

// A handler that waits for the end of its request ends with the server: the call fails before its timeout.
func TestStopEndsHandlers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		before       func(*http.Request) error
	}{
		{"body read", "its connection is watched", func(r *http.Request) error {
			_, err := io.Copy(io.Discard, r.Body)
			return err
		}},
		{"body not read", "package http doesn't watch the connection", func(*http.Request) error { return nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			isAsked := make(chan struct{})
			srv, answers := startAudited(t)
			stopDuring(t, srv, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if err := test.before(r); err != nil {
					t.Error(err)
				}
				close(isAsked)
				<-r.Context().Done()
			}), isAsked)
			status := <-answers
			if !strings.Contains(status.Message, `failed calling webhook "refuse.example.com"`) || strings.Contains(status.Message, "deadline exceeded") {
				t.Errorf("want the call to fail, not to run out of time, though %s, got %v", test.reason, status)
			}
		})
	}
}

// A handler that is running during a stop may answer.
func TestStopLetsHandlersAnswer(t *testing.T) {
	t.Parallel()
	srv, answers := startAudited(t)
	srv.WaitForHandlers(time.Minute)
	address, err := url.Parse(srv.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	isAsked := make(chan struct{})
	stopDuring(t, srv, miniapitest.AdmissionHandler(func(ctx context.Context, _ *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
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
	}), isAsked)
	if status := <-answers; status.Code != http.StatusCreated {
		t.Errorf("want the webhook's answer to count, got %v", status)
	}
}

// A request that waits for a future resource version gets an answer before the server ends.
func TestStopEndsWaitsForResourceVersions(t *testing.T) {
	t.Parallel()
	const future = "9999999"
	policy := &auditv1.Policy{Rules: []auditv1.PolicyRule{{
		Level: auditv1.LevelMetadata, Resources: []auditv1.GroupResources{{Resources: []string{"configmaps"}}}, Namespaces: []string{"default"},
	}}}
	for _, test := range []struct {
		name, reason string
		read         func(context.Context, typedcorev1.ConfigMapInterface)
	}{
		{"get", "requests are answered before a server ends", func(ctx context.Context, maps typedcorev1.ConfigMapInterface) {
			_, _ = maps.Get(ctx, "a", metav1.GetOptions{ResourceVersion: future})
		}},
		{"list", "and so are lists", func(ctx context.Context, maps typedcorev1.ConfigMapInterface) {
			_, _ = maps.List(ctx, metav1.ListOptions{ResourceVersion: future})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			received, answered := make(chan struct{}, 1), make(chan int32, 1)
			srv := miniapitest.Start(t, miniapitest.WithAudit(policy, func(event *auditv1.Event) {
				switch event.Stage {
				case auditv1.StageRequestReceived:
					received <- struct{}{}
				case auditv1.StageResponseComplete:
					answered <- event.ResponseStatus.Code
				}
			}))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { // the client retries against a server that is gone
				defer close(ended)
				test.read(ctx, srv.Client().CoreV1().ConfigMaps("default"))
			}()
			<-received
			if err := srv.Stop(); err != nil {
				t.Error(err)
			}
			if code := <-answered; code != http.StatusGatewayTimeout {
				t.Errorf("the answer is %d, want %d: %s", code, http.StatusGatewayTimeout, test.reason)
			}
			cancel()
			<-ended
		})
	}
}
