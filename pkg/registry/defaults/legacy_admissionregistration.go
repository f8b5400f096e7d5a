package defaults

import (
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// AdmissionregistrationV1beta1MutatingWebhookConfiguration sets the defaults of an
// admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration.
func AdmissionregistrationV1beta1MutatingWebhookConfiguration(c *admissionv1beta1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPoliciesV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds)
		Pointer(&w.ReinvocationPolicy, admissionv1beta1.NeverReinvocationPolicy)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		reviewVersions(&w.AdmissionReviewVersions)
		rules(w.Rules)
		webhookServiceV1beta1(w.ClientConfig.Service)
	}
}

// AdmissionregistrationV1beta1ValidatingWebhookConfiguration sets the defaults of
// an admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration.
func AdmissionregistrationV1beta1ValidatingWebhookConfiguration(c *admissionv1beta1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhookPoliciesV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds)
		selectors(&w.NamespaceSelector, &w.ObjectSelector)
		reviewVersions(&w.AdmissionReviewVersions)
		rules(w.Rules)
		webhookServiceV1beta1(w.ClientConfig.Service)
	}
}

// webhookPoliciesV1beta1 asks less of a webhook than later versions do, and gives it more time.
func webhookPoliciesV1beta1(
	failure **admissionv1beta1.FailurePolicyType,
	match **admissionv1beta1.MatchPolicyType,
	effects **admissionv1beta1.SideEffectClass,
	timeoutSeconds **int32,
) {
	Pointer(failure, admissionv1beta1.Ignore)
	Pointer(match, admissionv1beta1.Exact)
	Pointer(effects, admissionv1beta1.SideEffectClassUnknown)
	Pointer(timeoutSeconds, 30)
}

func webhookServiceV1beta1(s *admissionv1beta1.ServiceReference) {
	if s != nil {
		Pointer(&s.Port, servicePort)
	}
}

// reviewVersions are the versions of AdmissionReview that webhooks knew before
// they had to say.
func reviewVersions(versions *[]string) {
	if len(*versions) == 0 {
		*versions = []string{admissionv1beta1.SchemeGroupVersion.Version}
	}
}

// AdmissionregistrationV1beta1ValidatingAdmissionPolicy sets the defaults of an
// admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy.
func AdmissionregistrationV1beta1ValidatingAdmissionPolicy(p *admissionv1beta1.ValidatingAdmissionPolicy) {
	Pointer(&p.Spec.FailurePolicy, admissionv1beta1.Fail)
	matchResourcesV1beta1(p.Spec.MatchConstraints)
}

// AdmissionregistrationV1beta1ValidatingAdmissionPolicyBinding sets the defaults of
// an admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding.
func AdmissionregistrationV1beta1ValidatingAdmissionPolicyBinding(b *admissionv1beta1.ValidatingAdmissionPolicyBinding) {
	matchResourcesV1beta1(b.Spec.MatchResources)
}

// AdmissionregistrationV1beta1MutatingAdmissionPolicy sets the defaults of an
// admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy.
func AdmissionregistrationV1beta1MutatingAdmissionPolicy(p *admissionv1beta1.MutatingAdmissionPolicy) {
	Pointer(&p.Spec.FailurePolicy, admissionv1beta1.Fail)
	matchResourcesV1beta1(p.Spec.MatchConstraints)
}

// AdmissionregistrationV1beta1MutatingAdmissionPolicyBinding sets the defaults of
// an admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding.
func AdmissionregistrationV1beta1MutatingAdmissionPolicyBinding(b *admissionv1beta1.MutatingAdmissionPolicyBinding) {
	matchResourcesV1beta1(b.Spec.MatchResources)
}

func matchResourcesV1beta1(m *admissionv1beta1.MatchResources) {
	if m == nil {
		return
	}
	Pointer(&m.MatchPolicy, admissionv1beta1.Equivalent)
	selectors(&m.NamespaceSelector, &m.ObjectSelector)
	for _, resourceRules := range [][]admissionv1beta1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range resourceRules {
			rule(&resourceRules[i].Rule)
		}
	}
}

// AdmissionregistrationV1alpha1ValidatingAdmissionPolicy sets the defaults of an
// admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy.
func AdmissionregistrationV1alpha1ValidatingAdmissionPolicy(p *admissionv1alpha1.ValidatingAdmissionPolicy) {
	Pointer(&p.Spec.FailurePolicy, admissionv1alpha1.Fail)
	matchResourcesV1alpha1(p.Spec.MatchConstraints)
}

// AdmissionregistrationV1alpha1ValidatingAdmissionPolicyBinding sets the defaults
// of an admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicyBinding.
func AdmissionregistrationV1alpha1ValidatingAdmissionPolicyBinding(b *admissionv1alpha1.ValidatingAdmissionPolicyBinding) {
	matchResourcesV1alpha1(b.Spec.MatchResources)
	parameters(b.Spec.ParamRef)
}

// AdmissionregistrationV1alpha1MutatingAdmissionPolicy sets the defaults of an
// admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy.
func AdmissionregistrationV1alpha1MutatingAdmissionPolicy(p *admissionv1alpha1.MutatingAdmissionPolicy) {
	Pointer(&p.Spec.FailurePolicy, admissionv1alpha1.Fail)
	matchResourcesV1alpha1(p.Spec.MatchConstraints)
}

// AdmissionregistrationV1alpha1MutatingAdmissionPolicyBinding sets the defaults of
// an admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding.
func AdmissionregistrationV1alpha1MutatingAdmissionPolicyBinding(b *admissionv1alpha1.MutatingAdmissionPolicyBinding) {
	matchResourcesV1alpha1(b.Spec.MatchResources)
	parameters(b.Spec.ParamRef)
}

func matchResourcesV1alpha1(m *admissionv1alpha1.MatchResources) {
	if m == nil {
		return
	}
	Pointer(&m.MatchPolicy, admissionv1alpha1.Equivalent)
	selectors(&m.NamespaceSelector, &m.ObjectSelector)
	for _, resourceRules := range [][]admissionv1alpha1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range resourceRules {
			rule(&resourceRules[i].Rule)
		}
	}
}

// parameters that aren't found deny; later versions make the client say so.
func parameters(r *admissionv1alpha1.ParamRef) {
	if r != nil {
		Pointer(&r.ParameterNotFoundAction, admissionv1alpha1.DenyAction)
	}
}
