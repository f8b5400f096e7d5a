package miniapitest

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// wantedKinds are those of a group that an option installs from manifests, in any version.
type wantedKinds struct {
	group string
	kinds []string
	// others are of the group, too, and passed over.
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
	definitionKinds = wantedKinds{group: apiextensionsv1.GroupName, kinds: []string{"CustomResourceDefinition"}}
)

func (w wantedKinds) has(gvk schema.GroupVersionKind) bool {
	return gvk.Group == w.group && slices.Contains(w.kinds, gvk.Kind)
}

// nearly is also true of what has the group or the kind alone: passed over, a mistyped
// object would only be missed by what it doesn't do.
func (w wantedKinds) nearly(gvk schema.GroupVersionKind) bool {
	return slices.Contains(w.kinds, gvk.Kind) || gvk.Group == w.group && !slices.Contains(w.others, gvk.Kind)
}

// check names the first object that is nearly of the kinds.
func (w wantedKinds) check(objects []manifests.Object) error {
	for _, object := range objects {
		if !w.has(object.GroupVersionKind()) {
			return fmt.Errorf("%s: %s %s of %s: must be %s of %s",
				object.Source, object.GetKind(), object.GetName(), object.GetAPIVersion(), strings.Join(w.kinds, " or "), w.group)
		}
	}
	return nil
}
