package admissionwebhook

import (
	"context"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// exempt records the reason if the plugin considers none of its webhooks for a request.
func (p *plugin) exempt(scope *recorder.Scope, attributes admission.Attributes) {
	hidden := p.excludes && p.excluded.Has(attributes.GetResource().GroupResource())
	if verdict := explain.Exemption(attributes, hidden); verdict != nil {
		scope.Update(func(*trace.Request) { scope.Step.Exempt = verdict })
	}
}

// consideration records what a plugin does with its webhooks for one request. It is nil for a request that isn't
// recorded; its methods then do nothing.
type consideration struct {
	scope     *recorder.Scope
	explainer *explainer
	webhooks  []trace.Webhook
	// judged is the number of webhooks that have a verdict.
	judged int
	// mutating is true if each webhook is called before the next webhook is compared with the request.
	mutating bool
}

// consider begins the record of a plugin's webhooks for a request. It returns nil if the request isn't recorded.
func (c *caller) consider(ctx context.Context, hooks []webhook.WebhookAccessor) *consideration {
	scope := recorder.From(ctx)
	if scope == nil || scope.Step == nil {
		return nil
	}
	considered := &consideration{scope: scope, explainer: c.explainer, webhooks: make([]trace.Webhook, len(hooks)), mutating: c.mutating}
	index := 0
	for i, hook := range hooks {
		if i > 0 && hooks[i-1].GetConfigurationName() != hook.GetConfigurationName() {
			index = 0
		}
		reference := trace.Reference{Kind: c.configuration, Name: hook.GetConfigurationName(), Part: hook.GetName()}
		considered.webhooks[i] = trace.Webhook{Reference: reference, Index: index}
		index++
	}
	scope.Update(func(*trace.Request) { scope.Step.Webhooks = make([]*trace.Webhook, 0, len(hooks)) })
	return considered
}

// evaluating reports whether the request is a dry run of recorder.Recorder.Evaluate. Such a dry run calls no webhook.
func (c *consideration) evaluating() bool { return c != nil && c.scope.Evaluating() }

// judge records whether a webhook matches, and why. The arguments invocation and refused are k8s.io/apiserver's
// decision: invocation is nil if the webhook doesn't match. refused is an error of the comparison, which refuses the
// request.
func (c *consideration) judge(ctx context.Context, i int, considered candidate, invocation *generic.WebhookInvocation, refused *apierrors.StatusError, reinvocation *reinvocation) {
	if c == nil {
		return
	}
	w := &c.webhooks[i]
	m := considered.matching(pathOf(w))
	var verdict trace.Verdict
	switch {
	case invocation == nil:
		m.Earlier = c.scope.Objects
		verdict = c.explainer.explain(ctx, m)
		if refused != nil && verdict.Reason == trace.Matched {
			verdict = trace.Verdict{Reason: trace.MatchFailed, Detail: refused.Error()}
		}
	case reinvocation != nil && !reinvocation.includes(m.hook):
		verdict = c.notAgain(m, w)
	default:
		matched, _ := m.Rules()
		verdict = matched.Verdict()
		if c.evaluating() {
			verdict = c.evaluated(m, verdict)
		}
	}
	c.record(i, verdict)
}

// pathOf returns the path of a webhook in its configuration, such as webhooks[0].
func pathOf(w *trace.Webhook) string { return "webhooks[" + strconv.Itoa(w.Index) + "]" }

// record adds a webhook and its verdict to the step.
func (c *consideration) record(i int, verdict trace.Verdict) {
	c.judged = i + 1
	c.scope.Update(func(*trace.Request) {
		c.webhooks[i].Verdict = verdict
		c.scope.Step.Webhooks = append(c.scope.Step.Webhooks, &c.webhooks[i])
	})
}

// notAgain says why a webhook that matches isn't called in the second round of mutating plugins.
func (c *consideration) notAgain(m matching, w *trace.Webhook) trace.Verdict {
	before := false
	c.scope.Update(func(*trace.Request) { before = c.scope.Pass.Matched(w.Reference) })
	hook, _ := m.hook.GetMutatingWebhook()
	switch {
	case !before:
		return trace.Verdict{Reason: trace.ReinvocationFirstMatch}
	case hook.ReinvocationPolicy != nil && *hook.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy:
		return trace.Verdict{Reason: trace.ReinvocationUnneeded}
	}
	return trace.Verdict{Reason: trace.ReinvocationNever, Field: m.Path + ".reinvocationPolicy", Want: string(admissionregistrationv1.NeverReinvocationPolicy)}
}

// evaluated returns the verdict about a webhook for the request that recorder.Recorder.Evaluate evaluates. If this request
// is itself a dry run, the server wouldn't call a webhook with side effects. Otherwise the argument verdict is right.
func (c *consideration) evaluated(m matching, verdict trace.Verdict) trace.Verdict {
	dryRun := false
	c.scope.Update(func(r *trace.Request) { dryRun = r.DryRun })
	if !dryRun || supportsDryRun(m.hook.GetName(), m.hook.GetSideEffects()) == nil {
		return verdict
	}
	return dryRunVerdict(m.hook, m.Path)
}

func dryRunVerdict(hook webhook.WebhookAccessor, path string) trace.Verdict {
	verdict := trace.Verdict{Reason: trace.DryRunSideEffects, Field: path + ".sideEffects", Want: "missing"}
	if class := hook.GetSideEffects(); class != nil {
		verdict.Want = string(*class)
	}
	return verdict
}

// end records why the remaining webhooks aren't called, if an error ends the request. The last webhook that was
// considered refused the request, or the request timed out. The remaining webhooks are those that weren't considered,
// and those that match and weren't called.
func (c *consideration) end(err error) {
	if c == nil || err == nil || c.judged == 0 {
		return
	}
	last := c.judged - 1
	verdict := trace.Verdict{Reason: trace.RefusedEarlier, By: "webhook " + c.webhooks[last].Reference.String(), Detail: err.Error()}
	if apierrors.IsTimeout(err) {
		verdict = trace.Verdict{Reason: trace.TimedOut, Detail: err.Error()}
	}
	c.scope.Update(func(*trace.Request) {
		for i := range c.webhooks[:c.judged] {
			w := &c.webhooks[i]
			switch {
			case w.Verdict.Reason != trace.Matched || w.Call != nil:
			case c.mutating && c.evaluating(): // a request that a client makes would call the webhook before the refusal
			case i == last && verdict.Reason == trace.RefusedEarlier: // the object couldn't be converted for the webhook
				w.Verdict = trace.Verdict{Reason: trace.MatchFailed, Detail: err.Error()}
			default:
				w.Verdict = verdict
			}
		}
	})
	for i := c.judged; i < len(c.webhooks); i++ {
		c.record(i, verdict)
	}
}

// call begins the record of a call.
func (c *consideration) call(i int, attributes *admission.VersionedAttributes) *callRecord {
	if c == nil {
		return nil
	}
	kind := attributes.VersionedKind
	return &callRecord{
		scope: c.scope, webhook: &c.webhooks[i],
		kind: trace.Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
	}
}
