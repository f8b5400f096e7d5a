package admissionwebhook

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/component-base/tracing"
)

// mutatingDispatcher calls the mutating webhooks that match a request, one after the other. Each webhook gets the
// object with the changes of the earlier webhooks.
type mutatingDispatcher struct {
	caller
	plugin *mutating.Plugin
}

// Dispatch implements generic.Dispatcher.
func (d *mutatingDispatcher) Dispatch(ctx context.Context, attributes admission.Attributes, objects admission.ObjectInterfaces, hooks []webhook.WebhookAccessor) (err error) {
	considered := d.consider(ctx, hooks)
	defer func() { considered.end(err) }()
	reinvocation := reinvocationOf(attributes)
	defer reinvocation.end(attributes)

	object := &versionedObject{original: attributes, objects: objects}
	for i, hook := range hooks {
		matched := object.attributes()
		invocation, status := d.plugin.ShouldCallHook(ctx, hook, matched, objects, object)
		considered.judge(ctx, i, candidate{hook: hook, attributes: matched, interfaces: objects, versions: object}, invocation, status, reinvocation)
		if status != nil {
			return status
		}
		if invocation == nil || !reinvocation.includes(hook) {
			continue
		}
		if considered.evaluating() {
			reinvocation.called(hook, false) // as if the webhook had been called, and had changed nothing
			continue
		}
		if _, err := object.VersionedAttribute(invocation.Kind); err != nil {
			return apierrors.NewInternalError(err)
		}
		if err := d.ask(ctx, invocation, object, reinvocation, newAnnotator(object.versioned, invocation, reinvocation.round, i), considered.call(i, object.versioned)); err != nil {
			return err
		}
	}
	return object.writeBack()
}

// ask calls one webhook, and applies its patch. An error refuses the request.
func (d *mutatingDispatcher) ask(ctx context.Context, invocation *generic.WebhookInvocation, object *versionedObject, reinvocation *reinvocation, annotator annotator, record *callRecord) error {
	hook := invocation.Webhook
	started := time.Now()
	mutated := false
	err := d.call(ctx, invocation, object.versioned, &object.reviews, record, func(ctx context.Context, response *webhookrequest.AdmissionResponse) error {
		patch, err := decodePatch(hook, response)
		if err != nil || len(patch) == 0 {
			return err
		}
		before := record.object(object)
		if mutated, err = object.patch(hook, response, patch); err != nil {
			return err
		}
		record.patched(response.Patch, mutated, before, object)
		tracing.SpanFromContext(ctx).AddEvent("Patch applied")
		annotator.patched(ctx, patch)
		return nil
	})
	annotator.mutated(ctx, mutated)
	outcome := outcomeOf(hook, err)
	record.end(outcome)
	outcome.record(ctx, d.step, hook, object.versioned, time.Since(started))
	reinvocation.called(hook, mutated)
	if !outcome.ignored {
		return outcome.err
	}
	if !outcome.canceled {
		annotator.failedOpen(ctx)
	}
	if ctx.Err() != nil {
		return errRequestTimeout()
	}
	return nil
}
