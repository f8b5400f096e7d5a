package integration_test

import (
	"fmt"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const (
	registrationV1      = "admissionregistration.k8s.io/v1"
	registrationV1beta1 = "admissionregistration.k8s.io/v1beta1"
)

// configurationKinds are the two kinds of webhook configurations.
var configurationKinds = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// fields are the fields of a webhook in a configuration. A nil value removes the field.
type fields = map[string]any

// webhookWith returns a webhook with only the fields that v1 requires, and with the given changes.
func webhookWith(changed fields) map[string]any {
	webhook := fields{
		"name": "test.example.com", "clientConfig": fields{"url": "https://example.com/hook"},
		"sideEffects": "None", "admissionReviewVersions": []any{"v1"},
	}
	maps.Copy(webhook, changed)
	maps.DeleteFunc(webhook, func(_ string, value any) bool { return value == nil })
	return webhook
}

// ruleWith returns a valid rule with the given changes.
func ruleWith(changed fields) []any {
	rule := fields{"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}}
	maps.Copy(rule, changed)
	maps.DeleteFunc(rule, func(_ string, value any) bool { return value == nil })
	return []any{rule}
}

func configuration(version, kind, name string, webhooks ...any) *unstructured.Unstructured {
	return object(version, kind, name, fields{"webhooks": webhooks})
}

// The version v1beta1 of webhook configurations is served only if an option turns it on.
func TestConfigurationVersionsThatAreServed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		options      []miniapitest.Option
		served       bool
	}{
		{"by default", "kube-apiserver no longer serves v1beta1", nil, false},
		{"api/legacy", "api/legacy stands for the versions that kube-apiserver no longer serves",
			[]miniapitest.Option{miniapitest.Legacy()}, true},
		{"by name", "the version is named", []miniapitest.Option{miniapitest.WithAPIs(registrationV1beta1)}, true},
		{"api/all", "api/all stands for all versions that kube-apiserver serves today",
			[]miniapitest.Option{miniapitest.WithAPIs("api/all")}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, tc.options...)
			for version, served := range map[string]bool{registrationV1: true, registrationV1beta1: tc.served} {
				_, err := clusterResources(srv, version, "validatingwebhookconfigurations").List(t.Context(), metav1.ListOptions{})
				if served && err != nil || !served && !apierrors.IsNotFound(err) {
					t.Errorf("%s: want %s served %t, got %v", tc.reason, version, served, err)
				}
			}
		})
	}
}

// A stored webhook configuration may be valid in v1beta1 and invalid in v1. An update by v1 is accepted unless it adds
// another violation.
func TestConfigurationFromBeforeV1(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	for _, kind := range configurationKinds {
		t.Run(kind, func(t *testing.T) {
			old, current := clusterResources(srv, registrationV1beta1, resourceOf(kind)), clusterResources(srv, registrationV1, resourceOf(kind))
			loose := webhookWith(fields{"sideEffects": "Some"})
			must(old.Create(t.Context(), configuration(registrationV1beta1, kind, "loose", loose, loose), metav1.CreateOptions{}))(t)
			found := must(current.Get(t.Context(), "loose", metav1.GetOptions{}))(t)
			found.SetLabels(map[string]string{"changed": "yes"})
			must(current.Update(t.Context(), found, metav1.UpdateOptions{}))(t)

			strict := must(current.Create(t.Context(), configuration(registrationV1, kind, "strict", webhookWith(nil)), metav1.CreateOptions{}))(t)
			strict.Object["webhooks"] = []any{loose}
			if _, err := current.Update(t.Context(), strict, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
				t.Errorf("want side effects to be refused where there were none, got %v", err)
			}
		})
	}
}

// refusal tries to create a webhook configuration, and returns the message of the server's refusal without the
// beginning that all messages have. If the server accepts the configuration, refusal deletes it and returns an empty
// text.
func refusal(t testing.TB, client dynamic.ResourceInterface, configuration *unstructured.Unstructured) string {
	t.Helper()
	_, err := client.Create(t.Context(), configuration, metav1.CreateOptions{})
	if err == nil {
		ok(t, client.Delete(t.Context(), configuration.GetName(), metav1.DeleteOptions{}))
		return ""
	}
	prefix := fmt.Sprintf("%s.admissionregistration.k8s.io %q is invalid: ", configuration.GetKind(), configuration.GetName())
	message := err.Error()
	if !apierrors.IsInvalid(err) || len(message) < len(prefix) || message[:len(prefix)] != prefix {
		t.Errorf("want an error that begins with %q, got %v", prefix, err)
		return message
	}
	return message[len(prefix):]
}
