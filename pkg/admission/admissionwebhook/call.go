package admissionwebhook

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
)

// slowCall is the duration from which a call of a webhook is logged, with the events of its span.
const slowCall = 500 * time.Millisecond

// maxHTTPCode is the greatest HTTP status code. If a webhook returned a greater one, net/http would panic and break
// the connection to the client.
const maxHTTPCode = 999

// caller calls webhooks for the plugin MutatingAdmissionWebhook or ValidatingAdmissionWebhook.
type caller struct {
	step
	clients   *webhookutil.ClientManager
	explainer *explainer
	tokens    TokenSource
	// negotiator returns the decoders of responses that aren't of the version v1.
	negotiator func() runtime.ClientNegotiator
}

// call calls a webhook. It adds the response's audit annotations and warnings to the request. If the response
// allows the request, call passes the response to allowed. record and allowed may be nil.
//
// The error is a *webhookutil.ErrCallingWebhook if the webhook's failurePolicy decides about the request. It is a
// *webhookutil.ErrWebhookRejection if the webhook refuses the request. Any other error refuses the request.
func (c *caller) call(ctx context.Context, invocation *generic.WebhookInvocation, attributes *admission.VersionedAttributes, reviews *reviews, record *callRecord, allowed func(context.Context, *webhookrequest.AdmissionResponse) error) error {
	hook := invocation.Webhook
	if attributes.IsDryRun() {
		if err := supportsDryRun(hook.GetName(), hook.GetSideEffects()); err != nil {
			record.dryRun(hook, err)
			return err
		}
	}
	record.begin(hook)
	review, err := reviews.encode(attributes, invocation)
	if err != nil {
		return failed(hook.GetName(), apierrors.NewBadRequest("error creating admission objects"), "could not create admission objects: %w", err)
	}
	record.sends(review)
	client, err := hook.GetRESTClient(c.clients)
	if err != nil {
		return failed(hook.GetName(), apierrors.NewInternalError(err), "could not get REST client: %w", err)
	}
	ctx = c.authenticated(ctx, hook)
	ctx = intercepted(ctx, Target{hook.GetConfigurationName(), hook.GetName(), attributes}, record)

	ctx, span := tracing.Start(ctx, c.span,
		attribute.String("configuration", hook.GetConfigurationName()),
		attribute.String("webhook", hook.GetName()),
		attribute.Stringer("resource", attributes.GetResource()),
		attribute.String("subresource", attributes.GetSubresource()),
		attribute.String("operation", string(attributes.GetOperation())),
		attribute.String("UID", string(review.uid)))
	defer span.End(slowCall)

	err = c.exchange(record.observed(ctx), client, hook.GetTimeoutSeconds(), review)
	record.received(review, err)
	if err != nil {
		status, ok := err.(*apierrors.StatusError) //nolint:errorlint // errors.As would also find the status of a service that the resolver couldn't find
		if !ok {
			status = apierrors.NewServiceUnavailable("error calling webhook")
		}
		return failed(hook.GetName(), status, "failed to call webhook: %w", err)
	}
	span.AddEvent("Request completed")

	response, err := webhookrequest.VerifyAdmissionResponse(review.uid, c.mutating, review.response)
	if err != nil {
		return failed(hook.GetName(), apierrors.NewServiceUnavailable("error validating webhook response"), "received invalid webhook response: %w", err)
	}
	for key, value := range response.AuditAnnotations {
		annotate(ctx, attributes, hook.GetName()+"/"+key, value, auditinternal.LevelMetadata)
	}
	record.warns(response.Warnings)
	for _, text := range response.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	if !response.Allowed {
		if response.Result != nil && response.Result.Code > maxHTTPCode {
			response.Result.Code = 0 // code 0 is replaced by the usual code of a refusal
		}
		return &webhookutil.ErrWebhookRejection{Status: webhookerrors.ToStatusErr(hook.GetName(), response.Result)}
	}
	if allowed == nil {
		return nil
	}
	return allowed(ctx, response)
}

// exchange sends a review and receives the response. It ends after the webhook's timeoutSeconds at the latest, or when
// the request ends.
func (c *caller) exchange(ctx context.Context, client *rest.RESTClient, timeoutSeconds *int32, review *review) (err error) {
	if timeoutSeconds != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*timeoutSeconds)*time.Second)
		defer cancel()
	}
	exchange := func() { err = review.send(ctx, client, c.negotiator) }
	if trackers, ok := request.LatencyTrackersFrom(ctx); ok {
		c.tracker(trackers).Track(exchange)
	} else {
		exchange()
	}
	return err
}

// supportsDryRun returns an error if the webhook doesn't declare that it may be called in a dry run.
func supportsDryRun(name string, sideEffects *admissionregistrationv1.SideEffectClass) error {
	if sideEffects == nil {
		const reason = "Webhook SideEffects is nil"
		return failed(name, apierrors.NewBadRequest(reason), reason)
	}
	switch *sideEffects {
	case admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun:
		return nil
	}
	return webhookerrors.NewDryRunUnsupportedErr(name)
}

// failed returns the error of a call without a usable response.
func failed(name string, status *apierrors.StatusError, reason string, args ...any) error {
	return &webhookutil.ErrCallingWebhook{WebhookName: name, Reason: fmt.Errorf(reason, args...), Status: status}
}
