package miniapitest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Fifty servers run at the same time, and each calls only its own webhook. Run the test with the race detector, too: the
// build is fast, because the fixture links no API server.
func TestParallel(t *testing.T) {
	t.Parallel()
	const n = 50
	var starting, running sync.WaitGroup
	starting.Add(n)
	running.Add(n)
	for i := range n {
		go func() {
			defer running.Done()
			recorder := &miniapitest.Recorder{}
			webhook := recorder.Handler(miniapitest.AdmissionHandler(func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return miniapitest.Allowed()
			}))
			path := "/validate"
			service := &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "webhook-service", Path: &path}
			srv, err := miniapitest.New(context.Background(), miniapitest.WithWebhook(path, webhook), miniapitest.WithWebhookService("system", "webhook-service"),
				miniapitest.WithObjects(asking(admissionregistrationv1.WebhookClientConfig{Service: service})))
			starting.Done()
			if err != nil {
				t.Error(err)
				return
			}
			starting.Wait()
			own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("settings-", i)}}
			if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(context.Background(), own, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
			if reviews := recorder.Reviews(); len(reviews) != 1 || reviews[0].Request.Name != own.Name {
				t.Errorf("want the one request for %s, got %d", own.Name, len(reviews))
			}
			if err := srv.Reset(); err != nil {
				t.Error(err)
			}
			if err := srv.Stop(); err != nil {
				t.Error(err)
			}
		}()
	}
	running.Wait()
}
