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

// reinvocation knows which mutating webhooks of a request are called a second time: those with
// reinvocationPolicy IfNeeded after which the object has changed again.
type reinvocation struct {
	// chain runs all mutating plugins again when it is asked to; the value lives as long as it does.
	chain admission.ReinvocationContext
	// round is 0, and 1 when the chain runs again.
	round int
	// invoked are those that may be called again and after which nothing has changed so far.
	invoked sets.Set[string]
	// due are those to be called in round 1.
	due sets.Set[string]
	// output is the object as the plugin left it in round 0, for what other plugins do to it in round 1.
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

// includes says whether a webhook that matches is called in this round. None is called for the first time in
// round 1, even if it matches only now.
func (r *reinvocation) includes(hook webhook.WebhookAccessor) bool {
	return r.round == 0 || r.due.Has(hook.GetUID())
}

// called notes a call.
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

// changed makes those due that have seen the object as it was before.
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
