package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// servicePort is the default port of a service in a webhook's clientConfig.
const servicePort int32 = 443

// webhookPolicies sets the defaults of v1 for the fields that say how a webhook is called.
func webhookPolicies(failure **admissionregistrationv1.FailurePolicyType, match **admissionregistrationv1.MatchPolicyType, timeoutSeconds **int32) {
	defaults.Pointer(failure, admissionregistrationv1.Fail)
	defaults.Pointer(match, admissionregistrationv1.Equivalent)
	defaults.Pointer(timeoutSeconds, 10)
}

// webhookPoliciesV1beta1 sets the defaults of v1beta1 for the fields that say how a webhook is called. These
// defaults are more lenient than the defaults of v1, and the timeout is longer.
func webhookPoliciesV1beta1(
	failure **admissionregistrationv1.FailurePolicyType,
	match **admissionregistrationv1.MatchPolicyType,
	effects **admissionregistrationv1.SideEffectClass,
	timeoutSeconds **int32,
	reviewVersions *[]string,
) {
	defaults.Pointer(failure, admissionregistrationv1.Ignore)
	defaults.Pointer(match, admissionregistrationv1.Exact)
	defaults.Pointer(effects, admissionregistrationv1.SideEffectClassUnknown)
	defaults.Pointer(timeoutSeconds, 30)
	if len(*reviewVersions) == 0 {
		// A webhook that is older than the field admissionReviewVersions supports the version v1beta1 of
		// AdmissionReview.
		*reviewVersions = []string{admissionregistrationv1beta1.SchemeGroupVersion.Version}
	}
}

// webhookRequests sets the defaults of the fields that select requests, and of the service in clientConfig.
func webhookRequests(namespaces, objects **metav1.LabelSelector, rules []admissionregistrationv1.RuleWithOperations, service *admissionregistrationv1.ServiceReference) {
	selectors(namespaces, objects)
	for i := range rules {
		rule(&rules[i].Rule)
	}
	if service != nil {
		defaults.Pointer(&service.Port, servicePort)
	}
}

// configurationHooks returns the value of registry.Kind.Hooks for one of the two kinds of webhook configurations.
// webhooksOf returns the webhooks of an object as mutating webhooks, which have all the fields of validating webhooks.
func configurationHooks[T configuration](webhooksOf func(T) []admissionregistrationv1.MutatingWebhook) registry.Hooks {
	v1 := configurationValidation(webhookRulesV1, webhooksOf)
	return withoutStaticNames(registry.HooksOf[T]{
		Validate:       v1.Create,
		ValidateUpdate: v1.Update,
		Through: map[schema.GroupVersion]registry.Validation[T]{
			admissionregistrationv1beta1.SchemeGroupVersion: configurationValidation(webhookRulesV1beta1, webhooksOf),
		},
		WarningsOfOthers: func(deps registry.Dependencies, o T) []string { return webhooksWarnings(deps, webhooksOf(o)) },
	})
}

// configurationValidation returns the validation of webhook configurations by the rules of one API version.
func configurationValidation[T configuration](rules webhookRules, webhooksOf func(T) []admissionregistrationv1.MutatingWebhook) registry.Validation[T] {
	return registry.Validation[T]{
		Create: func(o T) field.ErrorList { return webhooks(o, webhooksOf(o), rules) },
		Update: func(o, old T) field.ErrorList {
			hooks := webhooksOf(o)
			return webhooks(o, hooks, rules.onUpdate(hooks, webhooksOf(old)))
		},
	}
}

var configurationColumns = []printers.Column{
	printers.NameColumn,
	printers.Number("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"),
	printers.AgeColumn,
}

func configurationCells(meta *metav1.ObjectMeta, webhooks int) []any {
	return []any{meta.Name, int64(webhooks), printers.Since(meta.CreationTimestamp)}
}
