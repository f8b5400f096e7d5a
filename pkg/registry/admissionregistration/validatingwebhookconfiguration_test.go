package admissionregistration

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestValidatingWebhookConfiguration(t *testing.T) {
	t.Parallel()
	o := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "hook.example.com", AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook", Port: ptr.To[int32](443)}},
			Rules:        []admissionregistrationv1.RuleWithOperations{{}}, TimeoutSeconds: ptr.To[int32](0),
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "a b", Expression: "true"}},
		}},
	}
	registrytest.WantErrors(t, "every field of a validating webhook is looked at", ValidateValidatingWebhookConfiguration(o),
		"webhooks[0].rules[0].operations: Required value",
		"webhooks[0].rules[0].apiGroups: Required value",
		"webhooks[0].rules[0].apiVersions: Required value",
		"webhooks[0].rules[0].resources: Required value",
		"webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
		"webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
		`webhooks[0].matchConditions[0].name: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', `+
			`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', `+
			`regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
	)
}

// An empty list in place of an absent one is a change for kube-apiserver.
func TestWebhookConfigurationGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, Group), []registrytest.GenerationCase{{
		Name: "validating: empty for absent", Reason: "the lists are compared exactly", Want: 2,
		Object: &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{}},
		Old:    &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: registrytest.Generation(1)},
	}, {
		Name: "mutating: empty rules for absent", Reason: "the fields of webhooks are compared exactly", Want: 2,
		Object: &admissionregistrationv1.MutatingWebhookConfiguration{Webhooks: []admissionregistrationv1.MutatingWebhook{{Rules: []admissionregistrationv1.RuleWithOperations{}}}},
		Old: &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: registrytest.Generation(1),
			Webhooks: []admissionregistrationv1.MutatingWebhook{{}}},
	}, {
		Name: "labels", Reason: "metadata is no desired state", Want: 1,
		Object: &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}},
		Old:    &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: registrytest.Generation(1)},
	}})
}
