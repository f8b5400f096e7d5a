package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

// selectors sets missing selectors to empty selectors, which match everything.
func selectors(namespaces, objects **metav1.LabelSelector) {
	defaults.Pointer(namespaces, metav1.LabelSelector{})
	defaults.Pointer(objects, metav1.LabelSelector{})
}

// rule sets a missing scope of a rule to "*", which matches all scopes.
func rule(r *admissionregistrationv1.Rule) {
	defaults.Pointer(&r.Scope, admissionregistrationv1.AllScopes)
}

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

// defaultMatchResources sets the defaults of the fields by which policies and bindings select requests.
func defaultMatchResources(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	defaults.Pointer(&m.MatchPolicy, admissionregistrationv1.Equivalent)
	selectors(&m.NamespaceSelector, &m.ObjectSelector)
	for _, resourceRules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range resourceRules {
			rule(&resourceRules[i].Rule)
		}
	}
}

// denyWithoutParameters sets parameterNotFoundAction to Deny: a request is denied if its parameters aren't found.
// Deny is the default of v1alpha1. In later versions, the client must set the field.
func denyWithoutParameters(r *admissionregistrationv1.ParamRef) {
	if r != nil {
		defaults.Pointer(&r.ParameterNotFoundAction, admissionregistrationv1.DenyAction)
	}
}
