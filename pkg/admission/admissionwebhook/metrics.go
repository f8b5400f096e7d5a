package admissionwebhook

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

// record adds the result of a call to the metrics. If the call didn't allow the request, record also logs the result.
func (o outcome) record(ctx context.Context, s step, hook webhook.WebhookAccessor, attributes admission.Attributes, took time.Duration) {
	rejected := o.err != nil && !o.ignored
	metrics := admissionmetrics.Metrics
	metrics.ObserveWebhook(ctx, hook.GetName(), took, rejected, attributes, s.label, o.code)
	if o.err == nil {
		return
	}
	logger := klog.FromContext(ctx).WithValues("webhook", hook.GetName(), "configuration", hook.GetConfigurationName())
	logger = logger.WithValues(described(ctx, attributes)...).WithValues("took", took)
	switch {
	case o.canceled:
		logger.Info("the request ended before its webhook answered", "err", o.err)
		return
	case o.ignored:
		metrics.ObserveWebhookFailOpen(ctx, hook.GetName(), s.label)
		logger.Error(o.err, "a failed call of a webhook is ignored, as its failurePolicy says")
		return
	case o.kind == admissionmetrics.WebhookRejectionNoError:
		logger.Info("a webhook has refused a request", "err", o.err)
	default:
		logger.Error(o.err, "a request is refused because of a webhook")
	}
	metrics.ObserveWebhookRejection(ctx, hook.GetName(), s.label, string(attributes.GetOperation()), o.kind, o.code)
}

// described returns the log values that identify a request.
func described(ctx context.Context, attributes admission.Attributes) []any {
	resource := attributes.GetResource().GroupResource().String()
	if subresource := attributes.GetSubresource(); subresource != "" {
		resource += "/" + subresource
	}
	values := []any{"verb", verb(ctx, attributes), "resource", resource}
	if namespace := attributes.GetNamespace(); namespace != "" {
		values = append(values, "namespace", namespace)
	}
	values = append(values, "name", name(attributes))
	if user := attributes.GetUserInfo(); user != nil {
		values = append(values, "user", user.GetName())
	}
	return values
}

// verb returns the verb of the API request. For the operation UPDATE or CREATE, the verb may be patch. If the context
// has no RequestInfo, verb returns the operation in lower case.
func verb(ctx context.Context, attributes admission.Attributes) string {
	if info, ok := request.RequestInfoFrom(ctx); ok {
		return info.Verb
	}
	return strings.ToLower(string(attributes.GetOperation()))
}

// name returns the object's name. If the name isn't generated yet, name returns the generateName with a star at its
// end.
func name(attributes admission.Attributes) string {
	if name := attributes.GetName(); name != "" {
		return name
	}
	object, err := meta.Accessor(attributes.GetObject())
	switch {
	case err != nil:
		return ""
	case object.GetName() == "" && object.GetGenerateName() != "":
		return object.GetGenerateName() + "*"
	}
	return object.GetName()
}
