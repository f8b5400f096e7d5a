package admissionwebhook

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/klog/v2"
)

// validatingDispatcher calls the validating webhooks that match a request in parallel.
type validatingDispatcher struct {
	caller
	plugin *validating.Plugin
}

// Dispatch implements generic.Dispatcher. If several webhooks refuse the request, the one that answers first decides
// the error.
func (d *validatingDispatcher) Dispatch(ctx context.Context, attributes admission.Attributes, objects admission.ObjectInterfaces, hooks []webhook.WebhookAccessor) (err error) {
	considered := d.consider(ctx, hooks)
	defer func() { considered.end(err) }()
	versions := versions{attributes: attributes, objects: objects, converted: map[schema.GroupVersionKind]*admission.VersionedAttributes{}}
	var invocations []*generic.WebhookInvocation
	var records []*callRecord
	for i, hook := range hooks {
		invocation, status := d.plugin.ShouldCallHook(ctx, hook, attributes, objects, versions)
		considered.judge(ctx, i, candidate{hook: hook, attributes: attributes, interfaces: objects, versions: versions}, invocation, status, nil)
		if status != nil {
			return status
		}
		if invocation == nil || considered.evaluating() {
			continue
		}
		versioned, err := versions.VersionedAttribute(invocation.Kind)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		invocations, records = append(invocations, invocation), append(records, considered.call(i, versioned))
	}
	if len(invocations) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return errRequestTimeout()
	}

	refusals := make(chan error, len(invocations))
	reviews := &reviews{}
	ask := func(i int) {
		if err := d.ask(ctx, invocations[i], i, versions.converted[invocations[i].Kind], reviews, records[i]); err != nil {
			refusals <- err
		}
	}
	var others sync.WaitGroup
	for i := range invocations[1:] {
		others.Go(func() { ask(i + 1) })
	}
	ask(0)
	others.Wait()
	select {
	case err := <-refusals:
		return err
	default:
		return nil
	}
}

// ask calls one webhook. An error refuses the request.
func (d *validatingDispatcher) ask(ctx context.Context, invocation *generic.WebhookInvocation, index int, attributes *admission.VersionedAttributes, reviews *reviews, record *callRecord) error {
	hook := invocation.Webhook
	started := time.Now()
	outcome := outcomeOf(hook, recovered(ctx, hook, func() error {
		return d.call(ctx, invocation, attributes, reviews, record, nil)
	}))
	record.end(outcome)
	outcome.record(ctx, d.step, hook, attributes, time.Since(started))
	if !outcome.ignored {
		return outcome.err
	}
	if !outcome.canceled {
		annotate(ctx, attributes, fmt.Sprintf("%sround_0_index_%d", validating.ValidatingAuditAnnotationFailedOpenKeyPrefix, index), hook.GetName(), auditinternal.LevelMetadata)
	}
	return nil
}

// recovered turns a panic into an error. All calls but the first run on goroutines of their own, where a panic would
// end the process.
func recovered(ctx context.Context, hook webhook.WebhookAccessor, call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			klog.FromContext(ctx).Error(nil, "panic while calling a webhook", "webhook", hook.GetName(), "panic", cause, "stack", string(debug.Stack()))
			panicked := fmt.Errorf("%s/%s has panicked: %v", validating.PluginName, hook.GetName(), cause)
			err = failed(hook.GetName(), apierrors.NewInternalError(panicked), "%w", panicked)
		}
	}()
	return call()
}

// errRequestTimeout returns the error of a request that ended before all its webhooks had answered.
func errRequestTimeout() error {
	return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
}
