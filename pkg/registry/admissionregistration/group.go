// Package admissionregistration has the kinds of API group admissionregistration.k8s.io, which configures the admission
// chain: webhooks and policies.
package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/admissionregistration/v1"
)

// Group is the API group admissionregistration.k8s.io. It has webhook configurations and policies, which configure
// the admission chain.
var Group = registry.Group{
	Name: "admissionregistration.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: admissionregistrationv1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: admissionregistrationv1beta1.AddToScheme, OnDemand: true, Priority: 12},
		{Name: "v1alpha1", AddToScheme: admissionregistrationv1alpha1.AddToScheme, OnDemand: true},
	},
	Priority: 16700,
	Kinds: []registry.Kind{
		validatingWebhookConfigurationKind,
		mutatingWebhookConfigurationKind,
		validatingAdmissionPolicyKind,
		validatingAdmissionPolicyBindingKind,
		mutatingAdmissionPolicyKind,
		mutatingAdmissionPolicyBindingKind,
	},
}
