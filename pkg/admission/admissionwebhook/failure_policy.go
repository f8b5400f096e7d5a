package admissionwebhook

import (
	"context"
	"errors"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
)

// outcome is the result of a call of a webhook.
type outcome struct {
	err error
	// code is the status code of the response or of the error. It is 0 if kind is
	// WebhookRejectionAPIServerInternalError.
	code int
	// kind is the type of the error in the metrics.
	kind admissionmetrics.WebhookRejectionErrorType
	// canceled is true if the call ended because the request was canceled.
	canceled bool
	// ignored is true if the call failed and the webhook's failurePolicy lets the request pass.
	ignored bool
}

func outcomeOf(hook webhook.WebhookAccessor, err error) outcome {
	var failure *webhookutil.ErrCallingWebhook
	var rejection *webhookutil.ErrWebhookRejection
	switch {
	case err == nil:
		return outcome{code: http.StatusOK}
	case errors.As(err, &failure):
		policy := hook.GetFailurePolicy()
		return outcome{
			err:      apierrors.NewInternalError(err),
			code:     int(failure.Status.ErrStatus.Code),
			kind:     admissionmetrics.WebhookRejectionCallingWebhookError,
			canceled: errors.Is(failure.Reason, context.Canceled),
			ignored:  policy != nil && *policy == admissionregistrationv1.Ignore,
		}
	case errors.As(err, &rejection):
		return outcome{
			err:  rejection.Status,
			code: int(rejection.Status.ErrStatus.Code),
			kind: admissionmetrics.WebhookRejectionNoError,
		}
	}
	return outcome{err: err, kind: admissionmetrics.WebhookRejectionAPIServerInternalError}
}

// denied reports whether the webhook refuses the request by its response.
func (o outcome) denied() bool {
	return o.err != nil && o.kind == admissionmetrics.WebhookRejectionNoError
}
