package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// mutatingWebhookConfigurationKind is the row of mutatingwebhookconfigurations in the server's table of kinds.
var mutatingWebhookConfigurationKind = registry.Kind{
	Resource:   "mutatingwebhookconfigurations",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.MutatingWebhookConfiguration{}, List: &admissionregistrationv1.MutatingWebhookConfigurationList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultMutatingWebhookConfiguration),
		registry.DefaultLike[admissionregistrationv1beta1.MutatingWebhookConfiguration](defaultMutatingWebhookConfigurationV1beta1),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &mutatingWebhookConfigurationColumns,
	Hooks:             configurationHooks(mutatingWebhooks),
}

func defaultMutatingWebhookConfiguration(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPolicies(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds)
		defaults.Pointer(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
		webhookRequests(&w.NamespaceSelector, &w.ObjectSelector, w.Rules, w.ClientConfig.Service)
	}
}

func defaultMutatingWebhookConfigurationV1beta1(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPoliciesV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
	}
	defaultMutatingWebhookConfiguration(c)
}

func mutatingWebhooks(c *admissionregistrationv1.MutatingWebhookConfiguration) []admissionregistrationv1.MutatingWebhook {
	return c.Webhooks
}

// ValidateMutatingWebhookConfiguration checks a new configuration sent as v1.
func ValidateMutatingWebhookConfiguration(o *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(o, mutatingWebhooks(o), webhookRulesV1)
}

var mutatingWebhookConfigurationColumns = printers.Of(configurationColumns,
	func(c *admissionregistrationv1.MutatingWebhookConfiguration) []any {
		return configurationCells(&c.ObjectMeta, len(c.Webhooks))
	})
