package miniapitest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
)

// callers are the plugins that call the webhooks of each kind of configuration.
var callers = map[string]string{
	"MutatingWebhookConfiguration":   "MutatingAdmissionWebhook",
	"ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook",
}

// checkCalled says which webhooks could be reached and would not be called.
func (o *options) checkCalled() error {
	for _, object := range slices.Concat(o.objects, o.configurations) {
		if len(object.webhooks) == 0 || !configurationKinds.has(object.GroupVersionKind()) {
			continue
		}
		if plugin := callers[object.GetKind()]; !o.server.Admission.Runs(plugin) {
			return fmt.Errorf("%s: %s %s: its webhooks would not be called: admission plugin %q is off", object.Source, object.GetKind(), object.GetName(), plugin)
		}
	}
	return nil
}

// checkReplaced says which configuration would take the place of another. Those of several operators
// may well have one name: kubebuilder has it the same in all of them.
func (o *options) checkReplaced() error {
	for i, object := range o.configurations {
		for _, earlier := range o.configurations[:i] {
			if object.GetKind() == earlier.GetKind() && object.GetName() == earlier.GetName() && !equality.Semantic.DeepEqual(object.Object.Object, earlier.Object.Object) {
				return fmt.Errorf("%s: %s %s: it would take the place of that in %s, which has the same name: give it another",
					object.Source, object.GetKind(), object.GetName(), earlier.Source)
			}
		}
	}
	return nil
}
