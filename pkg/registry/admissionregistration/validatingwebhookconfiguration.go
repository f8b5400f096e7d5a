package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// validatingWebhookConfigurationKind is the row of validatingwebhookconfigurations in the server's table of kinds.
var validatingWebhookConfigurationKind = registry.Kind{
	Resource:   "validatingwebhookconfigurations",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.ValidatingWebhookConfiguration{},
	List:       &admissionregistrationv1.ValidatingWebhookConfigurationList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultValidatingWebhookConfiguration),
		registry.DefaultLike[admissionregistrationv1beta1.ValidatingWebhookConfiguration](defaultValidatingWebhookConfigurationV1beta1),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &validatingWebhookConfigurationColumns,
	Hooks:             configurationHooks(validatingWebhooks),
}

func defaultValidatingWebhookConfiguration(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPolicies(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds)
		webhookRequests(&w.NamespaceSelector, &w.ObjectSelector, w.Rules, w.ClientConfig.Service)
	}
}

func defaultValidatingWebhookConfigurationV1beta1(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPoliciesV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
	}
	defaultValidatingWebhookConfiguration(c)
}

// validatingWebhooks returns the webhooks of a configuration as mutating webhooks, which have all fields of
// validating webhooks. This way, one validation is enough for both kinds.
func validatingWebhooks(c *admissionregistrationv1.ValidatingWebhookConfiguration) []admissionregistrationv1.MutatingWebhook {
	if c.Webhooks == nil {
		return nil
	}
	hooks := make([]admissionregistrationv1.MutatingWebhook, len(c.Webhooks))
	for i, w := range c.Webhooks {
		hooks[i] = admissionregistrationv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
			MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
	}
	return hooks
}

// ValidateValidatingWebhookConfiguration checks a new configuration sent as v1.
func ValidateValidatingWebhookConfiguration(o *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	return webhooks(o, validatingWebhooks(o), webhookRulesV1)
}

var validatingWebhookConfigurationColumns = printers.Of(configurationColumns,
	func(c *admissionregistrationv1.ValidatingWebhookConfiguration) []any {
		return configurationCells(&c.ObjectMeta, len(c.Webhooks))
	})
