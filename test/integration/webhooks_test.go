package integration_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// hook is a mutating or validating webhook, with the handler that answers its calls. The type MutatingWebhook has all
// fields of both kinds.
type hook struct {
	admissionregistrationv1.MutatingWebhook

	validates bool
	handler   http.Handler
}

// change changes a hook. A hook without changes has the defaults of the functions mutating and validating.
type change = func(*hook)

// mutating returns a mutating webhook for all operations on ConfigMaps. The short name is also the webhook's path. The
// server calls webhooks in the order of these names.
func mutating(name string, handler http.Handler, changes ...change) hook {
	h := hook{handler: handler}
	h.Name = name + ".example.com"
	h.SideEffects = new(admissionregistrationv1.SideEffectClassNone)
	h.AdmissionReviewVersions = []string{"v1"}
	on("*", "v1", "configmaps")(&h)
	for _, change := range changes {
		change(&h)
	}
	return h
}

func validating(name string, handler http.Handler, changes ...change) hook {
	h := mutating(name, handler, changes...)
	h.validates = true
	return h
}

// on returns a change: the hook selects only the operations ("CREATE", "CREATE UPDATE", "*") on resources of a group
// version ("v1", "apps/v1", "*/*").
func on(operations, groupVersion string, resources ...string) change {
	return func(h *hook) {
		h.Rules = []admissionregistrationv1.RuleWithOperations{rule(operations, groupVersion, resources...)}
	}
}

func rule(operations, groupVersion string, resources ...string) admissionregistrationv1.RuleWithOperations {
	group, version, found := strings.Cut(groupVersion, "/")
	if !found {
		group, version = "", groupVersion
	}
	r := admissionregistrationv1.RuleWithOperations{
		Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources},
	}
	for _, operation := range strings.Fields(operations) {
		r.Operations = append(r.Operations, admissionregistrationv1.OperationType(operation))
	}
	return r
}

func failurePolicy(policy admissionregistrationv1.FailurePolicyType) change {
	return func(h *hook) { h.FailurePolicy = &policy }
}

func reviewVersions(versions ...string) change {
	return func(h *hook) { h.AdmissionReviewVersions = versions }
}

func objectSelector(labels map[string]string) change {
	return func(h *hook) { h.ObjectSelector = &metav1.LabelSelector{MatchLabels: labels} }
}

// shortName returns the name of the hook without its domain.
func (h *hook) shortName() string { return strings.TrimSuffix(h.Name, ".example.com") }

// install serves the hooks that have a handler, and creates a webhook configuration for each hook. The end of the test
// deletes the configurations. The recorder has the calls of all handlers, in order.
func install(t testing.TB, srv *miniapitest.Server, hooks ...hook) *miniapitest.Recorder {
	t.Helper()
	recorder := &miniapitest.Recorder{}
	for _, h := range hooks {
		if h.handler != nil {
			h.ClientConfig = srv.Webhook("/"+h.shortName(), recorder.Handler(h.handler)).ClientConfig()
		}
		configure(t, srv, h.shortName(), h)
	}
	return recorder
}

// configure creates a webhook configuration with hooks of the same kind, and deletes it at the end of the test.
func configure(t testing.TB, srv *miniapitest.Server, name string, hooks ...hook) {
	t.Helper()
	configurations := srv.Client().AdmissionregistrationV1()
	meta := metav1.ObjectMeta{Name: name}
	var err error
	var remove func(context.Context, string, metav1.DeleteOptions) error
	if hooks[0].validates {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta}
		for _, h := range hooks {
			configuration.Webhooks = append(configuration.Webhooks, h.validating())
		}
		remove = configurations.ValidatingWebhookConfigurations().Delete
		_, err = configurations.ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{})
	} else {
		configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}
		for _, h := range hooks {
			configuration.Webhooks = append(configuration.Webhooks, h.MutatingWebhook)
		}
		remove = configurations.MutatingWebhookConfigurations().Delete
		_, err = configurations.MutatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatalf("configuring webhooks: %v", err)
	}
	t.Cleanup(func() {
		// At this point, the test's own context has ended.
		if err := remove(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("removing the webhook configuration %q: %v", name, err)
		}
	})
}

func (h *hook) validating() admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: h.Name, ClientConfig: h.ClientConfig, Rules: h.Rules, FailurePolicy: h.FailurePolicy, MatchPolicy: h.MatchPolicy,
		NamespaceSelector: h.NamespaceSelector, ObjectSelector: h.ObjectSelector, SideEffects: h.SideEffects,
		TimeoutSeconds: h.TimeoutSeconds, AdmissionReviewVersions: h.AdmissionReviewVersions, MatchConditions: h.MatchConditions,
	}
}

// answering returns a webhook's handler with the response that a function returns.
func answering(review func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.Handler {
	return miniapitest.AdmissionHandler(func(_ context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return review(request)
	})
}

// always returns a webhook's handler with a fixed response.
func always(response *admissionv1.AdmissionResponse) http.Handler {
	return answering(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return response })
}

func allow() http.Handler { return always(miniapitest.Allowed()) }

func deny(message string) http.Handler { return always(miniapitest.Denied(message)) }

func patch(operations ...miniapitest.PatchOperation) http.Handler {
	return always(miniapitest.Patched(operations...))
}

// called returns the short names of the hooks that were called, in the order of the calls.
func called(recorder *miniapitest.Recorder) []string {
	var names []string
	for _, review := range recorder.Reviews() {
		names = append(names, strings.TrimPrefix(review.Path, "/"))
	}
	return names
}

// only returns the request of the only call, and ends the test if there was another number of calls.
func only(t testing.TB, recorder *miniapitest.Recorder) *admissionv1.AdmissionRequest {
	t.Helper()
	reviews := recorder.Reviews()
	if len(reviews) != 1 {
		t.Fatalf("want one review, got %v", called(recorder))
	}
	return reviews[0].Request
}

// decode decodes an object of a review into its Go type.
func decode[T any](t testing.TB, raw []byte) *T {
	t.Helper()
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		t.Fatalf("reading an object of a review: %v", err)
	}
	return object
}

// pod returns a valid pod with one container.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main:1"}}},
	}
}

// sentAs returns a field of the request as the server has sent it in JSON, with nil for null. The second result tells
// whether the field exists.
func sentAs(t testing.TB, review miniapitest.Review, field string) (any, bool) {
	t.Helper()
	var sent struct{ Request map[string]any }
	if err := json.Unmarshal(review.Body, &sent); err != nil {
		t.Fatal(err)
	}
	value, found := sent.Request[field]
	return value, found
}

func timeoutSeconds(seconds int32) change {
	return func(h *hook) { h.TimeoutSeconds = &seconds }
}
