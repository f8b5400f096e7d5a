package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

// servicePort is the default port of a webhook that is behind a service.
const servicePort int32 = 443

// selectors makes missing selectors match everything.
func selectors(namespaces, objects **metav1.LabelSelector) {
	defaults.Pointer(namespaces, metav1.LabelSelector{})
	defaults.Pointer(objects, metav1.LabelSelector{})
}

func rules(list []admissionv1.RuleWithOperations) {
	for i := range list {
		rule(&list[i].Rule)
	}
}

func rule(r *admissionv1.Rule) {
	defaults.Pointer(&r.Scope, admissionv1.AllScopes)
}

func webhookService(s *admissionv1.ServiceReference) {
	if s != nil {
		defaults.Pointer(&s.Port, servicePort)
	}
}
