package defaults

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// servicePort is the port of a webhook that is a service.
const servicePort int32 = 443

// MutatingWebhookConfiguration sets the defaults of a MutatingWebhookConfiguration.
func MutatingWebhookConfiguration(c *admissionv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		Pointer(&w.FailurePolicy, admissionv1.Fail)
		Pointer(&w.MatchPolicy, admissionv1.Equivalent)
		Pointer(&w.TimeoutSeconds, 10)
		Pointer(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		rules(w.Rules)
		webhookService(w.ClientConfig.Service)
	}
}

// ValidatingWebhookConfiguration sets the defaults of a
// ValidatingWebhookConfiguration.
func ValidatingWebhookConfiguration(c *admissionv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		Pointer(&w.FailurePolicy, admissionv1.Fail)
		Pointer(&w.MatchPolicy, admissionv1.Equivalent)
		Pointer(&w.TimeoutSeconds, 10)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		rules(w.Rules)
		webhookService(w.ClientConfig.Service)
	}
}

// ValidatingAdmissionPolicy sets the defaults of a ValidatingAdmissionPolicy.
func ValidatingAdmissionPolicy(p *admissionv1.ValidatingAdmissionPolicy) {
	Pointer(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

// ValidatingAdmissionPolicyBinding sets the defaults of a
// ValidatingAdmissionPolicyBinding.
func ValidatingAdmissionPolicyBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

// MutatingAdmissionPolicy sets the defaults of a MutatingAdmissionPolicy.
func MutatingAdmissionPolicy(p *admissionv1.MutatingAdmissionPolicy) {
	Pointer(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

// MutatingAdmissionPolicyBinding sets the defaults of a
// MutatingAdmissionPolicyBinding.
func MutatingAdmissionPolicyBinding(b *admissionv1.MutatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

func matchResources(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	Pointer(&m.MatchPolicy, admissionv1.Equivalent)
	selectors(&m.NamespaceSelector, &m.ObjectSelector)
	for _, resourceRules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range resourceRules {
			rule(&resourceRules[i].Rule)
		}
	}
}

// selectors makes selectors that are left out match everything.
func selectors(namespaces, objects **metav1.LabelSelector) {
	Pointer(namespaces, metav1.LabelSelector{})
	Pointer(objects, metav1.LabelSelector{})
}

func rules(list []admissionv1.RuleWithOperations) {
	for i := range list {
		rule(&list[i].Rule)
	}
}

func rule(r *admissionv1.Rule) {
	Pointer(&r.Scope, admissionv1.AllScopes)
}

func webhookService(s *admissionv1.ServiceReference) {
	if s != nil {
		Pointer(&s.Port, servicePort)
	}
}
