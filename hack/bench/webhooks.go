package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
)

// activeTimeout limits the wait until a server calls a new webhook.
const activeTimeout = 30 * time.Second

const mutatePath, validatePath = "/mutate", "/validate"

// hooks are webhooks in this process. They allow every request; the mutating ones also add a key to the data of
// ConfigMaps.
type hooks struct {
	server                 *httptest.Server
	mutations, validations atomic.Int64 // the numbers of calls so far
}

func serveHooks() *hooks {
	h := &hooks{}
	h.server = httptest.NewUnstartedServer(h)
	h.server.EnableHTTP2 = true
	h.server.StartTLS()
	return h
}

func (h *hooks) close() { h.server.Close() }

func (h *hooks) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if req.URL.Path == mutatePath {
		h.mutations.Add(1)
		kind := admissionv1.PatchTypeJSONPatch
		review.Response.PatchType = &kind
		review.Response.Patch = []byte(`[{"op":"add","path":"/data/mutated","value":"yes"}]`)
	}
	if req.URL.Path == validatePath {
		h.validations.Add(1)
	}
	review.Request = nil
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	_ = json.NewEncoder(w).Encode(review) // if the response is incomplete, the server reports an error
}

// clientConfig returns the address of a webhook.
func (h *hooks) clientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	url := h.server.URL + path
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
}

// withHooks calls do while the server has webhooks for ConfigMaps. The arguments mutating and validating are the
// numbers of webhooks.
func (l *load) withHooks(ctx context.Context, h *hooks, mutating, validating int, do func() error) error {
	none, timeout := admissionregistrationv1.SideEffectClassNone, int32(10)
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Delete},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	if mutating > 0 {
		rules := rules[:1:1]
		// If there are mutating webhooks, all rules are for creates only, because a webhook can't change a deleted
		// object.
		rules[0].Operations = rules[0].Operations[:1]
	}
	mutatingConfig := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}
	for i := range mutating {
		mutatingConfig.Webhooks = append(mutatingConfig.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: fmt.Sprintf("m%d.bench.example.com", i), ClientConfig: h.clientConfig(mutatePath), Rules: rules,
			SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		})
	}
	validatingConfig := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}
	for i := range validating {
		validatingConfig.Webhooks = append(validatingConfig.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: fmt.Sprintf("v%d.bench.example.com", i), ClientConfig: h.clientConfig(validatePath), Rules: rules,
			SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		})
	}

	registrations := l.client.AdmissionregistrationV1()
	if mutating > 0 {
		if _, err := registrations.MutatingWebhookConfigurations().Create(ctx, mutatingConfig, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := l.awaitCall(ctx, &h.mutations); err != nil {
			return err
		}
	}
	if validating > 0 {
		if _, err := registrations.ValidatingWebhookConfigurations().Create(ctx, validatingConfig, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := l.awaitCall(ctx, &h.validations); err != nil {
			return err
		}
	}
	err := do()
	if mutating > 0 {
		err = errors.Join(err, registrations.MutatingWebhookConfigurations().Delete(ctx, "bench", metav1.DeleteOptions{}))
	}
	if validating > 0 {
		err = errors.Join(err, registrations.ValidatingWebhookConfigurations().Delete(ctx, "bench", metav1.DeleteOptions{}))
	}
	return err
}

// awaitCall creates objects until a webhook is called, because a server may take some time to call a new webhook.
func (l *load) awaitCall(ctx context.Context, calls *atomic.Int64) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, activeTimeout, true, func(ctx context.Context) (bool, error) {
		before := calls.Load()
		err := l.create(ctx)
		return calls.Load() > before, err
	})
}
