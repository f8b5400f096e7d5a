package registry

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// admissionregistration configures the admission chain itself.
var admissionregistration = Group{
	Name: "admissionregistration.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: admissionregistrationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: admissionregistrationv1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: admissionregistrationv1alpha1.AddToScheme, OnDemand: true},
	},
	Priority: 16700,
	Kinds: []Kind{
		{
			Resource:   "validatingwebhookconfigurations",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.ValidatingWebhookConfiguration{}, List: &admissionregistrationv1.ValidatingWebhookConfigurationList{},
			Defaults: []Default{
				DefaultOf(defaults.ValidatingWebhookConfiguration),
				DefaultOf(defaults.AdmissionregistrationV1beta1ValidatingWebhookConfiguration),
			},
			Generation:        true,
			ConditionalUpdate: true,
			Printer:           &printers.ValidatingWebhookConfiguration,
			Hooks: withoutStaticNames(HooksOf[*admissionregistrationv1.ValidatingWebhookConfiguration]{
				Validate:         validation.ValidatingWebhookConfiguration,
				ValidateUpdate:   validation.ValidatingWebhookConfigurationUpdate,
				WarningsOfOthers: validatingWebhookWarnings,
				Through: map[schema.GroupVersion]Validation[*admissionregistrationv1.ValidatingWebhookConfiguration]{
					admissionregistrationv1beta1.SchemeGroupVersion: {
						Create: validation.ValidatingWebhookConfigurationV1beta1, Update: validation.ValidatingWebhookConfigurationV1beta1Update,
					},
				},
			}),
		},
		{
			Resource:   "mutatingwebhookconfigurations",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.MutatingWebhookConfiguration{}, List: &admissionregistrationv1.MutatingWebhookConfigurationList{},
			Defaults: []Default{
				DefaultOf(defaults.MutatingWebhookConfiguration),
				DefaultOf(defaults.AdmissionregistrationV1beta1MutatingWebhookConfiguration),
			},
			Generation:        true,
			ConditionalUpdate: true,
			Printer:           &printers.MutatingWebhookConfiguration,
			Hooks: withoutStaticNames(HooksOf[*admissionregistrationv1.MutatingWebhookConfiguration]{
				Validate:         validation.MutatingWebhookConfiguration,
				ValidateUpdate:   validation.MutatingWebhookConfigurationUpdate,
				WarningsOfOthers: mutatingWebhookWarnings,
				Through: map[schema.GroupVersion]Validation[*admissionregistrationv1.MutatingWebhookConfiguration]{
					admissionregistrationv1beta1.SchemeGroupVersion: {
						Create: validation.MutatingWebhookConfigurationV1beta1, Update: validation.MutatingWebhookConfigurationV1beta1Update,
					},
				},
			}),
		},
		{
			Resource:   "validatingadmissionpolicies",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.ValidatingAdmissionPolicy{}, List: &admissionregistrationv1.ValidatingAdmissionPolicyList{},
			Defaults: []Default{
				DefaultOf(defaults.ValidatingAdmissionPolicy),
				DefaultOf(defaults.AdmissionregistrationV1beta1ValidatingAdmissionPolicy),
				DefaultOf(defaults.AdmissionregistrationV1alpha1ValidatingAdmissionPolicy),
			},
			Status:              true,
			StatusKeepsMetadata: true,
			Generation:          true,
			ConditionalUpdate:   true,
			Printer:             &printers.ValidatingAdmissionPolicy,
			Hooks:               withoutStaticNames(validatingPolicyHooks),
		},
		{
			Resource:   "validatingadmissionpolicybindings",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, List: &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
			Defaults: []Default{
				DefaultOf(defaults.ValidatingAdmissionPolicyBinding),
				DefaultOf(defaults.AdmissionregistrationV1beta1ValidatingAdmissionPolicyBinding),
				DefaultOf(defaults.AdmissionregistrationV1alpha1ValidatingAdmissionPolicyBinding),
			},
			Generation:        true,
			ConditionalUpdate: true,
			Printer:           &printers.ValidatingAdmissionPolicyBinding,
			Hooks:             withoutStaticNames(validatingBindingHooks),
		},
		{
			Resource:   "mutatingadmissionpolicies",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.MutatingAdmissionPolicy{}, List: &admissionregistrationv1.MutatingAdmissionPolicyList{},
			Defaults: []Default{
				DefaultOf(defaults.MutatingAdmissionPolicy),
				DefaultOf(defaults.AdmissionregistrationV1beta1MutatingAdmissionPolicy),
				DefaultOf(defaults.AdmissionregistrationV1alpha1MutatingAdmissionPolicy),
			},
			Generation:        true,
			ConditionalUpdate: true,
			Printer:           &printers.MutatingAdmissionPolicy,
			Hooks:             withoutStaticNames(mutatingPolicyHooks),
		},
		{
			Resource:   "mutatingadmissionpolicybindings",
			Categories: []string{"api-extensions"},
			Object:     &admissionregistrationv1.MutatingAdmissionPolicyBinding{}, List: &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
			Defaults: []Default{
				DefaultOf(defaults.MutatingAdmissionPolicyBinding),
				DefaultOf(defaults.AdmissionregistrationV1beta1MutatingAdmissionPolicyBinding),
				DefaultOf(defaults.AdmissionregistrationV1alpha1MutatingAdmissionPolicyBinding),
			},
			Generation:        true,
			ConditionalUpdate: true,
			Printer:           &printers.MutatingAdmissionPolicyBinding,
			Hooks:             withoutStaticNames(mutatingBindingHooks),
		},
	},
}
