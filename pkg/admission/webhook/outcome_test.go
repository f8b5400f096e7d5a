package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// What came of a call decides on the request, and whoever reads the log learns of every call that didn't allow it.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	ignore, fail := admissionregistrationv1.Ignore, admissionregistrationv1.Fail
	unreachable := failed("hook.example.com", apierrors.NewServiceUnavailable("error calling webhook"), "failed to call webhook: %w", errors.New("no route"))
	canceled := failed("hook.example.com", apierrors.NewServiceUnavailable("error calling webhook"), "failed to call webhook: %w", context.Canceled)
	refused := &webhookutil.ErrWebhookRejection{Status: webhookerrors.ToStatusErr("hook.example.com", &metav1.Status{Message: "no"})}
	tests := []struct {
		name, reason string
		err          error
		policy       *admissionregistrationv1.FailurePolicyType
		want         string // the error of the request
		ignored      bool
		code         int
		log          string
	}{
		{"allowed", "nothing to tell", nil, &fail, "", false, 200, ""},
		{"unreachable", "the policy is Fail", unreachable, &fail, "Internal error occurred: failed calling webhook", false, 503, "a request is refused since the call of a webhook failed"},
		{"unreachable, without a policy", "none counts as Fail", unreachable, nil, "Internal error occurred: failed calling webhook", false, 503, "a request is refused since"},
		{"unreachable and ignored", "the answer doesn't tell, so the log does", unreachable, &ignore, "Internal error occurred: failed calling webhook", true, 503, "a failed call of a webhook is ignored"},
		{"canceled", "that isn't the webhook's fault", canceled, &fail, "context canceled", false, 503, "the request ended before its webhook answered"},
		{"refused", "failurePolicy doesn't matter", refused, &ignore, `admission webhook "hook.example.com" denied the request: no`, false, 400, "a webhook has refused a request"},
		{"dry run", "neither the webhook's verdict nor a failed call", webhookerrors.NewDryRunUnsupportedErr("hook.example.com"), &ignore, "does not support dry run", false, 0, "a request is refused since"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			hook := webhook.NewValidatingWebhookAccessor("uid", "configuration", &admissionregistrationv1.ValidatingWebhook{Name: "hook.example.com", FailurePolicy: test.policy})

			got := outcomeOf(hook, test.err)
			got.record(klog.NewContext(t.Context(), logger), validate, hook, podAttributes(t), time.Millisecond)

			if text := fmt.Sprint(got.err); test.err != nil && !strings.Contains(text, test.want) || (got.err == nil) != (test.err == nil) {
				t.Errorf("%s: want the error %q, got %s", test.reason, test.want, text)
			}
			if got.ignored != test.ignored || got.code != test.code {
				t.Errorf("%s: want ignored %t and code %d, got %t and %d", test.reason, test.ignored, test.code, got.ignored, got.code)
			}
			log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
			if !strings.Contains(log, test.log) || (log == "") != (test.log == "") {
				t.Errorf("%s: want %q in the log, got %q", test.reason, test.log, log)
			}
		})
	}
}
