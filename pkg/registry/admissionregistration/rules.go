package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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
