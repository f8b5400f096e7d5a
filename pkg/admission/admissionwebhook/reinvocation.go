package admissionwebhook

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
)

// reinvocation decides which mutating webhooks are called a second time for a request. These are the webhooks with the
// reinvocationPolicy IfNeeded, if another part of the chain has changed the object since their call.
type reinvocation struct {
	// chain is the state that all mutating plugins of the request share. Its method SetShouldReinvoke requests a second
	// round. The chain keeps this reinvocation from the first round to the second.
	chain admission.ReinvocationContext
	// round is 0 in the first round of mutating plugins, and 1 in the second.
	round int
	// invoked are the webhooks with the policy IfNeeded that were called since the last change of the object. The next
	// change by another webhook or plugin moves them to due.
	invoked sets.Set[string]
	// due are the webhooks to call in round 1, if they match the request again.
	due sets.Set[string]
	// output is the object at the end of this plugin's round 0, or nil if invoked is empty then. If round 1 begins with
	// a different object, another plugin has changed it.
	output runtime.Object
}

// reinvocationOf returns the reinvocation of a request, and begins a round.
func reinvocationOf(attributes admission.Attributes) *reinvocation {
	chain := attributes.GetReinvocationContext()
	r, ok := chain.Value(mutating.PluginName).(*reinvocation)
	if !ok {
		r = &reinvocation{chain: chain, invoked: sets.Set[string]{}, due: sets.Set[string]{}}
		chain.SetValue(mutating.PluginName, r)
	}
	if chain.IsReinvoke() {
		r.round = 1
		if len(r.invoked) > 0 && !apiequality.Semantic.DeepEqual(r.output, attributes.GetObject()) {
			r.changed()
		}
	}
	return r
}

// includes reports whether a webhook that matches is called in this round. In round 1, only the webhooks in due are
// called. A webhook that didn't match in round 0 isn't called.
func (r *reinvocation) includes(hook webhook.WebhookAccessor) bool {
	return r.round == 0 || r.due.Has(hook.GetUID())
}

// called records that a webhook was called, and whether it changed the object.
func (r *reinvocation) called(hook webhook.WebhookAccessor, mutated bool) {
	if mutated {
		r.changed()
		r.chain.SetShouldReinvoke()
	}
	configured, ok := hook.GetMutatingWebhook()
	if ok && configured.ReinvocationPolicy != nil && *configured.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
		r.invoked.Insert(hook.GetUID())
	}
}

// changed records a change of the object: the webhooks that were called before the change become due.
func (r *reinvocation) changed() {
	r.due = r.due.Union(r.invoked)
	r.invoked = sets.Set[string]{}
}

// end records the object at the end of a round, if invoked isn't empty. At the beginning of the next round,
// reinvocationOf compares the object of that round with the recorded object.
func (r *reinvocation) end(attributes admission.Attributes) {
	r.output = nil
	if object := attributes.GetObject(); object != nil && len(r.invoked) > 0 {
		r.output = object.DeepCopyObject()
	}
}
