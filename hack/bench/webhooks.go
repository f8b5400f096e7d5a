//go:build unix

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
	operations := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Delete}
	if mutating > 0 {
		operations = operations[:1] // a webhook can't change a deleted object
		if err := errors.Join(l.addMutating(ctx, h, mutating), l.awaitCall(ctx, &h.mutations)); err != nil {
			return err
		}
	}
	if validating > 0 {
		if err := errors.Join(l.addValidating(ctx, h, validating, operations...), l.awaitCall(ctx, &h.validations)); err != nil {
			return err
		}
	}
	err := do()
	registrations := l.client.AdmissionregistrationV1()
	if mutating > 0 {
		err = errors.Join(err, registrations.MutatingWebhookConfigurations().Delete(ctx, "bench", metav1.DeleteOptions{}))
	}
	if validating > 0 {
		err = errors.Join(err, registrations.ValidatingWebhookConfigurations().Delete(ctx, "bench", metav1.DeleteOptions{}))
	}
	return err
}

// configMapRules returns the rules of webhooks for operations on ConfigMaps.
func configMapRules(operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
}

// addMutating adds n webhooks for creates.
func (l *load) addMutating(ctx context.Context, h *hooks, n int) error {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}
	for i := range n {
		config.Webhooks = append(config.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: fmt.Sprintf("m%d.bench.example.com", i), ClientConfig: h.clientConfig(mutatePath),
			Rules:       configMapRules(admissionregistrationv1.Create),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(10)),
			AdmissionReviewVersions: []string{"v1"},
		})
	}
	_, err := l.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, config, metav1.CreateOptions{})
	return err
}

// addValidating adds n webhooks for operations.
func (l *load) addValidating(ctx context.Context, h *hooks, n int, operations ...admissionregistrationv1.OperationType) error {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}
	for i := range n {
		config.Webhooks = append(config.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: fmt.Sprintf("v%d.bench.example.com", i), ClientConfig: h.clientConfig(validatePath),
			Rules:       configMapRules(operations...),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(10)),
			AdmissionReviewVersions: []string{"v1"},
		})
	}
	_, err := l.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, config, metav1.CreateOptions{})
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
