package admission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/initializer"
	policyloader "k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	webhookloader "k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader"

	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// manifestLoaders returns the functions that load static admission manifests (KEP-5793): files with webhook
// configurations and policies of the v1 API. The loaded objects get the API's defaults and validation.
func manifestLoaders() (*initializer.ManifestLoaders, error) {
	// Manifests have the version v1 alone, even if the server serves other versions too.
	scheme := runtime.NewScheme()
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Version: "v1", Kind: "List"}, &metav1.List{})
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()

	validatingWebhooks := manifestsOf("ValidatingWebhookConfiguration", admissionregistration.ValidateValidatingWebhookConfiguration,
		func(l *admissionregistrationv1.ValidatingWebhookConfigurationList) []admissionregistrationv1.ValidatingWebhookConfiguration {
			return l.Items
		})
	mutatingWebhooks := manifestsOf("MutatingWebhookConfiguration", admissionregistration.ValidateMutatingWebhookConfiguration,
		func(l *admissionregistrationv1.MutatingWebhookConfigurationList) []admissionregistrationv1.MutatingWebhookConfiguration {
			return l.Items
		})
	validatingPolicies := manifestsOf("ValidatingAdmissionPolicy", admissionregistration.ValidateValidatingAdmissionPolicy,
		func(l *admissionregistrationv1.ValidatingAdmissionPolicyList) []admissionregistrationv1.ValidatingAdmissionPolicy {
			return l.Items
		})
	validatingBindings := manifestsOf("ValidatingAdmissionPolicyBinding", admissionregistration.ValidateValidatingAdmissionPolicyBinding,
		func(l *admissionregistrationv1.ValidatingAdmissionPolicyBindingList) []admissionregistrationv1.ValidatingAdmissionPolicyBinding {
			return l.Items
		})
	mutatingPolicies := manifestsOf("MutatingAdmissionPolicy", admissionregistration.ValidateMutatingAdmissionPolicy,
		func(l *admissionregistrationv1.MutatingAdmissionPolicyList) []admissionregistrationv1.MutatingAdmissionPolicy {
			return l.Items
		})
	mutatingBindings := manifestsOf("MutatingAdmissionPolicyBinding", admissionregistration.ValidateMutatingAdmissionPolicyBinding,
		func(l *admissionregistrationv1.MutatingAdmissionPolicyBindingList) []admissionregistrationv1.MutatingAdmissionPolicyBinding {
			return l.Items
		})

	return &initializer.ManifestLoaders{
		LoadValidatingWebhookManifests: func(dir string) ([]*admissionregistrationv1.ValidatingWebhookConfiguration, string, error) {
			return webhookloader.LoadManifests(dir, decoder, validatingWebhooks)
		},
		LoadMutatingWebhookManifests: func(dir string) ([]*admissionregistrationv1.MutatingWebhookConfiguration, string, error) {
			return webhookloader.LoadManifests(dir, decoder, mutatingWebhooks)
		},
		LoadValidatingPolicyManifests: func(dir string) ([]*admissionregistrationv1.ValidatingAdmissionPolicy, []*admissionregistrationv1.ValidatingAdmissionPolicyBinding, string, error) {
			return policyloader.LoadPolicyManifests(dir, decoder, validatingPolicies, validatingBindings,
				func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
		},
		LoadMutatingPolicyManifests: func(dir string) ([]*admissionregistrationv1.MutatingAdmissionPolicy, []*admissionregistrationv1.MutatingAdmissionPolicyBinding, string, error) {
			return policyloader.LoadPolicyManifests(dir, decoder, mutatingPolicies, mutatingBindings,
				func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
		},
	}, nil
}

// manifestsOf returns a function that takes the objects of one kind out of a decoded manifest. The manifest is an
// object of the kind, or a list of such objects. The function defaults and validates the objects.
func manifestsOf[T any, Object interface {
	*T
	runtime.Object
	metav1.Object
}, List any](kind string, validate func(Object) field.ErrorList, items func(List) []T) func(runtime.Object) ([]Object, error) {
	return func(decoded runtime.Object) ([]Object, error) {
		var objects []Object
		switch manifest := any(decoded).(type) {
		case Object:
			objects = []Object{manifest}
		case List:
			list := items(manifest)
			for i := range list {
				objects = append(objects, &list[i])
			}
		default:
			return nil, fmt.Errorf("must be a %[1]s or a %[1]sList, got a %[2]T: %[3]w", kind, decoded, policyloader.ErrUnrecognizedType)
		}
		for _, object := range objects {
			builtin.Table().Scheme().Default(object)
			if errs := validate(object); len(errs) > 0 {
				return nil, fmt.Errorf("invalid %s %q: %w", kind, object.GetName(), errs.ToAggregate())
			}
		}
		return objects, nil
	}
}
