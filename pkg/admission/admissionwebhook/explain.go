package admissionwebhook

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// explainer says why a webhook matches a request or doesn't.
type explainer struct {
	explain.Explainer
	conditions conditions
}

// candidate is a webhook that may match a request, with that request.
type candidate struct {
	hook       webhook.WebhookAccessor
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	versions   generic.VersionedAttributeAccessor
}

// matching is the comparison of a webhook with a request.
type matching struct {
	candidate
	explain.Matching
}

// matching returns the comparison of a candidate. path is the path of the webhook in its configuration, such as
// webhooks[0].
func (c candidate) matching(path string) matching {
	return matching{c, explain.Matching{Constraints: explain.Webhook(c.hook), Path: path, Attributes: c.attributes, Interfaces: c.interfaces}}
}

// explain returns the verdict about a webhook. The webhook's rules and selectors decide first, and then its match
// conditions.
func (e *explainer) explain(ctx context.Context, m matching) trace.Verdict {
	verdict, matched := e.Explain(m.Matching)
	if matched == nil {
		return verdict
	}
	if verdict := e.conditions.explain(ctx, m, *matched); verdict != nil {
		return *verdict
	}
	return verdict
}
