package manifests

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// WantedKinds are the kinds of a group, in any version, that an option applies. The option skips objects of other
// kinds.
type WantedKinds struct {
	Group string
	Kinds []string
	// Others are further kinds of the group. The option skips these kinds, and doesn't take them for misspelled kinds.
	Others []string
}

var (
	// WebhookConfigurations are the kinds of webhook configurations.
	WebhookConfigurations = WantedKinds{
		Group: admissionregistrationv1.GroupName,
		Kinds: []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
		Others: []string{
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		},
	}
	// Definitions is the kind CustomResourceDefinition.
	Definitions = WantedKinds{Group: DefinitionGroup, Kinds: []string{"CustomResourceDefinition"}}
)

// Has tells whether the kind is one of the wanted kinds.
func (w WantedKinds) Has(gvk schema.GroupVersionKind) bool {
	return gvk.Group == w.Group && slices.Contains(w.Kinds, gvk.Kind)
}

// Nearly tells whether an object has the group or the kind of a wanted kind. If the object has only one of them, the
// other is probably misspelled, so the object must not be skipped. Nearly returns false for the kinds in Others.
func (w WantedKinds) Nearly(gvk schema.GroupVersionKind) bool {
	return slices.Contains(w.Kinds, gvk.Kind) || gvk.Group == w.Group && !slices.Contains(w.Others, gvk.Kind)
}

// Check returns an error for the first object that isn't of a wanted kind.
func (w WantedKinds) Check(objects []Object) error {
	for _, object := range objects {
		if !w.Has(object.GroupVersionKind()) {
			return fmt.Errorf("%s: %s %s of %s: must be %s of %s",
				object.Source, object.GetKind(), object.GetName(), object.GetAPIVersion(), strings.Join(w.Kinds, " or "), w.Group)
		}
	}
	return nil
}
