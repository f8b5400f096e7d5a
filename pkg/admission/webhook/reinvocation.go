package webhook

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
)

// reinvocation determines the mutating webhooks of a request that are called a second time: webhooks with
// reinvocationPolicy IfNeeded whose object another plugin has changed later.
type reinvocation struct {
	// chain runs all mutating plugins again on request. The reinvocation is one of its values.
	chain admission.ReinvocationContext
	// round is 0, or 1 when the chain runs again.
	round int
	// invoked are webhooks that may be called again, and after which nothing has changed so far.
	invoked sets.Set[string]
	// due are the webhooks of round 1.
	due sets.Set[string]
	// output is the object at the end of the plugin's round 0. A different object in round 1 has been changed by other
	// plugins.
	output runtime.Object
}

// reinvocationOf begins a round.
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

// includes reports whether a webhook that matches is called in this round. A webhook that matches in round 1 for the
// first time isn't called.
func (r *reinvocation) includes(hook webhook.WebhookAccessor) bool {
	return r.round == 0 || r.due.Has(hook.GetUID())
}

// called records a call.
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

// changed makes the webhooks due that have seen the object before a change.
func (r *reinvocation) changed() {
	r.due = r.due.Union(r.invoked)
	r.invoked = sets.Set[string]{}
}

// end ends a round.
func (r *reinvocation) end(attributes admission.Attributes) {
	r.output = nil
	if object := attributes.GetObject(); object != nil && len(r.invoked) > 0 {
		r.output = object.DeepCopyObject()
	}
}
