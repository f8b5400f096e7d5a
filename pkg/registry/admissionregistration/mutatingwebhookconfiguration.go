package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// mutatingWebhookConfigurationKind is the row of mutatingwebhookconfigurations.
var mutatingWebhookConfigurationKind = registry.Kind{
	Resource:   "mutatingwebhookconfigurations",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.MutatingWebhookConfiguration{}, List: &admissionregistrationv1.MutatingWebhookConfigurationList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultMutatingWebhookConfiguration),
		registry.DefaultOf(defaultMutatingWebhookConfigurationV1beta1),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &mutatingWebhookConfigurationColumns,
	Hooks: withoutStaticNames(registry.HooksOf[*admissionregistrationv1.MutatingWebhookConfiguration]{
		Validate:         ValidateMutatingWebhookConfiguration,
		ValidateUpdate:   validateMutatingWebhookConfigurationUpdate,
		WarningsOfOthers: mutatingWebhookWarnings,
		Through: map[schema.GroupVersion]registry.Validation[*admissionregistrationv1.MutatingWebhookConfiguration]{
			admissionregistrationv1beta1.SchemeGroupVersion: {
				Create: validateMutatingWebhookConfigurationV1beta1, Update: validateMutatingWebhookConfigurationV1beta1Update,
			},
		},
	}),
}

// defaultMutatingWebhookConfiguration sets the defaults of a MutatingWebhookConfiguration.
func defaultMutatingWebhookConfiguration(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaults.Pointer(&w.FailurePolicy, admissionregistrationv1.Fail)
		defaults.Pointer(&w.MatchPolicy, admissionregistrationv1.Equivalent)
		defaults.Pointer(&w.TimeoutSeconds, 10)
		defaults.Pointer(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		rules(w.Rules)
		webhookService(w.ClientConfig.Service)
	}
}

// defaultMutatingWebhookConfigurationV1beta1 sets the defaults of an
// admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration.
func defaultMutatingWebhookConfigurationV1beta1(c *admissionregistrationv1beta1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPoliciesV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds)
		defaults.Pointer(&w.ReinvocationPolicy, admissionregistrationv1beta1.NeverReinvocationPolicy)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		defaultReviewVersions(&w.AdmissionReviewVersions)
		rules(w.Rules)
		webhookServiceV1beta1(w.ClientConfig.Service)
	}
}

// ValidateMutatingWebhookConfiguration checks a new configuration sent as v1.
func ValidateMutatingWebhookConfiguration(o *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1)
}

// validateMutatingWebhookConfigurationUpdate checks a configuration, sent as v1, that replaces
// another.
func validateMutatingWebhookConfigurationUpdate(o, old *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1.onUpdate(o.Webhooks, old.Webhooks))
}

// validateMutatingWebhookConfigurationV1beta1 checks a new configuration sent as v1beta1.
func validateMutatingWebhookConfigurationV1beta1(o *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1beta1)
}

// validateMutatingWebhookConfigurationV1beta1Update checks a configuration, sent as v1beta1,
// that replaces another.
func validateMutatingWebhookConfigurationV1beta1Update(o, old *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1beta1.onUpdate(o.Webhooks, old.Webhooks))
}

func mutatingWebhookWarnings(deps registry.Dependencies, c *admissionregistrationv1.MutatingWebhookConfiguration) []string {
	var all []string
	for i := range c.Webhooks {
		all = append(all, webhookWarnings(deps, field.NewPath("webhooks").Index(i), c.Webhooks[i].Rules, c.Webhooks[i].ClientConfig.Service)...)
	}
	return all
}

var mutatingWebhookConfigurationColumns = printers.Of(
	[]printers.Column{printers.NameColumn, webhooksColumn, printers.AgeColumn},
	func(c *admissionregistrationv1.MutatingWebhookConfiguration) []any {
		return []any{c.Name, int64(len(c.Webhooks)), printers.Since(c.CreationTimestamp)}
	})
