package registry

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// admissionregistration configures the admission chain itself.
var admissionregistration = Group{
	Name: "admissionregistration.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: admissionregistrationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: admissionregistrationv1beta1.AddToScheme, Legacy: true},
	},
	Kinds: []Kind{
		{
			Resource:   "validatingwebhookconfigurations",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.ValidatingWebhookConfiguration{}, List: &admissionregistrationv1.ValidatingWebhookConfigurationList{},
			Generation: true,
		},
		{
			Resource:   "mutatingwebhookconfigurations",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.MutatingWebhookConfiguration{}, List: &admissionregistrationv1.MutatingWebhookConfigurationList{},
			Generation: true,
		},
		{
			Resource:   "validatingadmissionpolicies",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.ValidatingAdmissionPolicy{}, List: &admissionregistrationv1.ValidatingAdmissionPolicyList{},
			Status:              true,
			StatusKeepsMetadata: true,
			Generation:          true,
		},
		{
			Resource:   "validatingadmissionpolicybindings",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, List: &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
			Generation: true,
		},
		{
			Resource:   "mutatingadmissionpolicies",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.MutatingAdmissionPolicy{}, List: &admissionregistrationv1.MutatingAdmissionPolicyList{},
			Generation: true,
		},
		{
			Resource:   "mutatingadmissionpolicybindings",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.MutatingAdmissionPolicyBinding{}, List: &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
			Generation: true,
		},
	},
}
