package admissionregistration

import (
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

func webhookServiceV1beta1(s *admissionv1beta1.ServiceReference) {
	if s != nil {
		defaults.Pointer(&s.Port, servicePort)
	}
}

// defaultReviewVersions sets the versions of AdmissionReview that webhooks understood before the field was required.
func defaultReviewVersions(versions *[]string) {
	if len(*versions) == 0 {
		*versions = []string{admissionv1beta1.SchemeGroupVersion.Version}
	}
}

func matchResourcesV1beta1(m *admissionv1beta1.MatchResources) {
	if m == nil {
		return
	}
	defaults.Pointer(&m.MatchPolicy, admissionv1beta1.Equivalent)
	selectors(&m.NamespaceSelector, &m.ObjectSelector)
	for _, resourceRules := range [][]admissionv1beta1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range resourceRules {
			rule(&resourceRules[i].Rule)
		}
	}
}

func matchResourcesV1alpha1(m *admissionv1alpha1.MatchResources) {
	if m == nil {
		return
	}
	defaults.Pointer(&m.MatchPolicy, admissionv1alpha1.Equivalent)
	selectors(&m.NamespaceSelector, &m.ObjectSelector)
	for _, resourceRules := range [][]admissionv1alpha1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range resourceRules {
			rule(&resourceRules[i].Rule)
		}
	}
}

// parameters denies requests whose parameters aren't found. In later versions the client has to choose.
func parameters(r *admissionv1alpha1.ParamRef) {
	if r != nil {
		defaults.Pointer(&r.ParameterNotFoundAction, admissionv1alpha1.DenyAction)
	}
}
