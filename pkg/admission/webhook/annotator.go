package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/klog/v2"
)

// annotator tells the audit event of a request what a mutating webhook did. It makes no annotation that the
// event's level leaves out: a patch can be long.
type annotator struct {
	attributes admission.Attributes
	// place is where the webhook was called, in which round of the chain and as which of its webhooks.
	place                  string
	configuration, webhook string
}

func newAnnotator(attributes *admission.VersionedAttributes, invocation *generic.WebhookInvocation, round, index int) annotator {
	return annotator{
		attributes:    attributes.Attributes,
		place:         fmt.Sprintf("round_%d_index_%d", round, index),
		configuration: invocation.Webhook.GetConfigurationName(),
		webhook:       invocation.Webhook.GetName(),
	}
}

// mutated says that the webhook was called, and whether it changed the object.
func (a annotator) mutated(ctx context.Context, mutated bool) {
	a.annotate(ctx, mutating.MutationAuditAnnotationPrefix, auditinternal.LevelMetadata, mutating.MutationAuditAnnotation{
		Configuration: a.configuration,
		Webhook:       a.webhook,
		Mutated:       mutated,
	})
}

// patched keeps the patch that was applied.
func (a annotator) patched(ctx context.Context, patch jsonpatch.Patch) {
	a.annotate(ctx, mutating.PatchAuditAnnotationPrefix, auditinternal.LevelRequest, mutating.PatchAuditAnnotation{
		Configuration: a.configuration,
		Webhook:       a.webhook,
		Patch:         patch,
		PatchType:     string(admissionv1.PatchTypeJSONPatch),
	})
}

// annotate adds an annotation whose value is JSON.
func (a annotator) annotate(ctx context.Context, prefix string, level auditinternal.Level, value any) {
	event := audit.AuditContextFrom(ctx)
	if event == nil || event.GetEventLevel().Less(level) {
		return
	}
	encoded, err := json.Marshal(value)
	if err == nil {
		err = a.attributes.AddAnnotationWithLevel(prefix+a.place, string(encoded), level)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "audit annotation not added", "key", prefix+a.place)
	}
}
