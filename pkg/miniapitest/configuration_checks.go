package miniapitest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// callers maps a kind of webhook configuration to the admission plugin that calls its webhooks.
var callers = map[string]string{
	"MutatingWebhookConfiguration":   "MutatingAdmissionWebhook",
	"ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook",
}

// neededCallers returns the admission plugins that call the webhooks of the options. If one of these plugins is off,
// Start must fail, because the server would never call the webhooks.
func (o *options) neededCallers() []engine.Caller {
	var needed []engine.Caller
	for _, object := range slices.Concat(o.objects, o.configurations) {
		if len(object.webhooks) == 0 || !configurationKinds.has(object.GroupVersionKind()) {
			continue
		}
		needed = append(needed, engine.Caller{
			Plugin:        callers[object.GetKind()],
			Configuration: fmt.Sprintf("%s: %s %s", object.Source, object.GetKind(), object.GetName()),
		})
	}
	return needed
}

// checkReplaced returns an error if two different configurations have the same kind and name, because the second one
// would replace the first. Projects that kubebuilder has made all use the same names.
func (o *options) checkReplaced() error {
	for i, object := range o.configurations {
		for _, earlier := range o.configurations[:i] {
			if object.GetKind() == earlier.GetKind() && object.GetName() == earlier.GetName() && !equality.Semantic.DeepEqual(object.Object.Object, earlier.Object.Object) {
				return fmt.Errorf("%s: %s %s would replace the object of the same name in %s: rename one of them",
					object.Source, object.GetKind(), object.GetName(), earlier.Source)
			}
		}
	}
	return nil
}
