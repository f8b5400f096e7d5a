package registry

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

func validatingWebhookWarnings(deps Dependencies, c *admissionregistrationv1.ValidatingWebhookConfiguration) []string {
	var all []string
	for i := range c.Webhooks {
		all = append(all, webhookWarnings(deps, field.NewPath("webhooks").Index(i), c.Webhooks[i].Rules, c.Webhooks[i].ClientConfig.Service)...)
	}
	return all
}

func mutatingWebhookWarnings(deps Dependencies, c *admissionregistrationv1.MutatingWebhookConfiguration) []string {
	var all []string
	for i := range c.Webhooks {
		all = append(all, webhookWarnings(deps, field.NewPath("webhooks").Index(i), c.Webhooks[i].Rules, c.Webhooks[i].ClientConfig.Service)...)
	}
	return all
}

// defaultWebhookPort is the port of a service that doesn't name one.
const defaultWebhookPort = 443

// webhookWarnings warns of a webhook that is never called, or can't be.
func webhookWarnings(deps Dependencies, path *field.Path, rules []admissionregistrationv1.RuleWithOperations, service *admissionregistrationv1.ServiceReference) []string {
	var all []string
	if deps.ServedResources != nil {
		all = warnings.WebhookRules(path, rules, deps.ServedResources)
	}
	if deps.ServiceWarning == nil || service == nil {
		return all
	}
	if text := deps.ServiceWarning(service.Namespace, service.Name, ptr.Deref(service.Port, defaultWebhookPort)); text != "" {
		all = append(all, path.Child("clientConfig", "service").String()+": "+text)
	}
	return all
}
