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

// validatingWebhookConfigurationKind is the row of validatingwebhookconfigurations.
var validatingWebhookConfigurationKind = registry.Kind{
	Resource:   "validatingwebhookconfigurations",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.ValidatingWebhookConfiguration{}, List: &admissionregistrationv1.ValidatingWebhookConfigurationList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultValidatingWebhookConfiguration),
		registry.DefaultOf(defaultValidatingWebhookConfigurationV1beta1),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &validatingWebhookConfigurationColumns,
	Hooks: withoutStaticNames(registry.HooksOf[*admissionregistrationv1.ValidatingWebhookConfiguration]{
		Validate:         ValidateValidatingWebhookConfiguration,
		ValidateUpdate:   validateValidatingWebhookConfigurationUpdate,
		WarningsOfOthers: validatingWebhookWarnings,
		Through: map[schema.GroupVersion]registry.Validation[*admissionregistrationv1.ValidatingWebhookConfiguration]{
			admissionregistrationv1beta1.SchemeGroupVersion: {
				Create: validateValidatingWebhookConfigurationV1beta1, Update: validateValidatingWebhookConfigurationV1beta1Update,
			},
		},
	}),
}

// defaultValidatingWebhookConfiguration sets the defaults of a
// ValidatingWebhookConfiguration.
func defaultValidatingWebhookConfiguration(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaults.Pointer(&w.FailurePolicy, admissionregistrationv1.Fail)
		defaults.Pointer(&w.MatchPolicy, admissionregistrationv1.Equivalent)
		defaults.Pointer(&w.TimeoutSeconds, 10)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		rules(w.Rules)
		webhookService(w.ClientConfig.Service)
	}
}

// defaultValidatingWebhookConfigurationV1beta1 sets the defaults of
// an admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration.
func defaultValidatingWebhookConfigurationV1beta1(c *admissionregistrationv1beta1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPoliciesV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		defaultReviewVersions(&w.AdmissionReviewVersions)
		rules(w.Rules)
		webhookServiceV1beta1(w.ClientConfig.Service)
	}
}

// ValidateValidatingWebhookConfiguration checks a new configuration sent as v1.
func ValidateValidatingWebhookConfiguration(o *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, validatingHooks(o), webhookRulesV1)
}

// validateValidatingWebhookConfigurationUpdate checks a configuration, sent as v1, that
// replaces another.
func validateValidatingWebhookConfigurationUpdate(o, old *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	hooks, was := validatingHooks(o), validatingHooks(old)
	return webhooks(&o.ObjectMeta, hooks, webhookRulesV1.onUpdate(hooks, was))
}

// validateValidatingWebhookConfigurationV1beta1 checks a new configuration sent as v1beta1.
func validateValidatingWebhookConfigurationV1beta1(o *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, validatingHooks(o), webhookRulesV1beta1)
}

// validateValidatingWebhookConfigurationV1beta1Update checks a configuration, sent as v1beta1,
// that replaces another.
func validateValidatingWebhookConfigurationV1beta1Update(o, old *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	hooks, was := validatingHooks(o), validatingHooks(old)
	return webhooks(&o.ObjectMeta, hooks, webhookRulesV1beta1.onUpdate(hooks, was))
}

// validatingHooks converts a configuration's webhooks to mutating ones, which have all the fields of validating ones.
func validatingHooks(o *admissionregistrationv1.ValidatingWebhookConfiguration) []admissionregistrationv1.MutatingWebhook {
	hooks := make([]admissionregistrationv1.MutatingWebhook, len(o.Webhooks))
	for i, w := range o.Webhooks {
		hooks[i] = admissionregistrationv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
			MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
	}
	return hooks
}

func validatingWebhookWarnings(deps registry.Dependencies, c *admissionregistrationv1.ValidatingWebhookConfiguration) []string {
	var all []string
	for i := range c.Webhooks {
		all = append(all, webhookWarnings(deps, field.NewPath("webhooks").Index(i), c.Webhooks[i].Rules, c.Webhooks[i].ClientConfig.Service)...)
	}
	return all
}

var validatingWebhookConfigurationColumns = printers.Of(
	[]printers.Column{printers.NameColumn, webhooksColumn, printers.AgeColumn},
	func(c *admissionregistrationv1.ValidatingWebhookConfiguration) []any {
		return []any{c.Name, int64(len(c.Webhooks)), printers.Since(c.CreationTimestamp)}
	})
