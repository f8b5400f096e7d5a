package admissionwebhook

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

// annotator adds annotations about a mutating webhook to the audit event of a request. It makes only the
// annotations that the audit level includes, because a patch can be long.
type annotator struct {
	attributes             *admission.VersionedAttributes
	configuration, webhook string
	// round is 0, or 1 in the second round of mutating plugins. index is the position of the webhook in the list of all
	// webhooks, from 0.
	round, index int
}

func newAnnotator(attributes *admission.VersionedAttributes, invocation *generic.WebhookInvocation, round, index int) annotator {
	return annotator{
		attributes:    attributes,
		configuration: invocation.Webhook.GetConfigurationName(),
		webhook:       invocation.Webhook.GetName(),
		round:         round,
		index:         index,
	}
}

func (a annotator) key(prefix string) string {
	return fmt.Sprintf("%sround_%d_index_%d", prefix, a.round, a.index)
}

// failedOpen records that the call failed and the webhook's failurePolicy lets the request pass.
func (a annotator) failedOpen(ctx context.Context) {
	annotate(ctx, a.attributes, a.key(mutating.MutationAuditAnnotationFailedOpenKeyPrefix), a.webhook, auditinternal.LevelMetadata)
}

// mutated records that the webhook was called, and whether it changed the object.
func (a annotator) mutated(ctx context.Context, mutated bool) {
	a.annotate(ctx, mutating.MutationAuditAnnotationPrefix, auditinternal.LevelMetadata, mutating.MutationAuditAnnotation{
		Configuration: a.configuration,
		Webhook:       a.webhook,
		Mutated:       mutated,
	})
}

// patched records the patch that was applied.
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
	if err != nil {
		klog.FromContext(ctx).Error(err, "audit annotation not made", "key", a.key(prefix))
		return
	}
	annotate(ctx, a.attributes, a.key(prefix), string(encoded), level)
}

// annotate adds an annotation to the audit event of a request, if the audit level of the event includes it.
func annotate(ctx context.Context, attributes *admission.VersionedAttributes, key, value string, level auditinternal.Level) {
	if err := attributes.AddAnnotationWithLevel(key, value, level); err != nil {
		klog.FromContext(ctx).Error(err, "audit annotation not added", "key", key)
	}
}
