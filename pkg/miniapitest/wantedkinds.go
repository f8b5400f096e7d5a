package miniapitest

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// wantedKinds are the kinds of a group, in any version, that an option applies. The option skips objects of other
// kinds.
type wantedKinds struct {
	group string
	kinds []string
	// others are further kinds of the group. The option skips these kinds, even if nearly returns true for them.
	others []string
}

var (
	configurationKinds = wantedKinds{
		group: admissionregistrationv1.GroupName,
		kinds: []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
		others: []string{
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		},
	}
	definitionKinds = wantedKinds{group: manifests.DefinitionGroup, kinds: []string{"CustomResourceDefinition"}}
)

func (w wantedKinds) has(gvk schema.GroupVersionKind) bool {
	return gvk.Group == w.group && slices.Contains(w.kinds, gvk.Kind)
}

// nearly tells whether an object has the group or the kind of a wanted kind. If the object has only one of them, the
// other is probably misspelled, so the object must not be skipped.
func (w wantedKinds) nearly(gvk schema.GroupVersionKind) bool {
	return slices.Contains(w.kinds, gvk.Kind) || gvk.Group == w.group && !slices.Contains(w.others, gvk.Kind)
}

// check returns an error for the first object that isn't of a wanted kind.
func (w wantedKinds) check(objects []manifests.Object) error {
	for _, object := range objects {
		if !w.has(object.GroupVersionKind()) {
			return fmt.Errorf("%s: %s %s of %s: must be %s of %s",
				object.Source, object.GetKind(), object.GetName(), object.GetAPIVersion(), strings.Join(w.kinds, " or "), w.group)
		}
	}
	return nil
}
