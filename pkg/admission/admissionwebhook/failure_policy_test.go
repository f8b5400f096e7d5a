package admissionwebhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// The result of a call decides about the request. Each call that didn't allow the request is logged.
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
		want         string // part of the error of the request
		ignored      bool
		code         int
		log          string
	}{
		{"allowed", "a response that allows the request needs no log entry", nil, &fail, "", false, 200, ""},
		{"unreachable", "the policy is Fail", unreachable, &fail, "Internal error occurred: failed calling webhook",
			false, 503, "a request is refused because of a webhook"},
		{"unreachable, without a policy", "without a failurePolicy, Fail is in force", unreachable, nil,
			"Internal error occurred: failed calling webhook", false, 503, "a request is refused because of"},
		{"unreachable and ignored", "the response doesn't show the failed call, so the log shows it", unreachable,
			&ignore, "Internal error occurred: failed calling webhook", true, 503,
			"a failed call of a webhook is ignored"},
		{"canceled", "the client ended the request, and the webhook didn't fail", canceled, &fail, "context canceled",
			false, 503, "the request ended before its webhook answered"},
		{"refused", "a response of the webhook decides, whatever the failurePolicy", refused, &ignore,
			`admission webhook "hook.example.com" denied the request: no`, false, 400,
			"a webhook has refused a request"},
		{"dry run", "the webhook isn't called, so there is neither a response nor a failed call",
			webhookerrors.NewDryRunUnsupportedErr("hook.example.com"), &ignore, "does not support dry run", false, 0,
			"a request is refused because of"},
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

// The log entry about a failed call identifies the request.
func TestOutcomeTellsOfTheRequest(t *testing.T) {
	t.Parallel()
	failure := failed("hook.example.com", apierrors.NewServiceUnavailable("error calling webhook"), "failed to call webhook: %w", errors.New("no route"))
	hook := webhook.NewValidatingWebhookAccessor("uid", "configuration", &admissionregistrationv1.ValidatingWebhook{Name: "hook.example.com"})
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	asked := &user.DefaultInfo{Name: "alice"}
	for _, test := range []struct {
		name, reason string
		attributes   admission.Attributes
		info         *request.RequestInfo
		want         []string
	}{
		{
			"update", "the verb is that of the request",
			admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "shop", "web", deployments, "",
				admission.Update, nil, false, asked),
			&request.RequestInfo{Verb: "patch"},
			[]string{`verb="patch"`, `resource="deployments.apps"`, `namespace="shop"`, `name="web"`, `user="alice"`, `took="1.5s"`},
		},
		{
			"subresource", "a subresource can have other webhooks than its resource",
			admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "shop", "web", deployments, "scale",
				admission.Update, nil, false, asked),
			&request.RequestInfo{Verb: "update"},
			[]string{`verb="update"`, `resource="deployments.apps/scale"`},
		},
		{
			"generated name", "the object has none yet",
			admission.NewAttributesRecord(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}}, nil,
				schema.GroupVersionKind{}, "shop", "", pods, "", admission.Create, nil, false, asked),
			&request.RequestInfo{Verb: "create"},
			[]string{`verb="create"`, `resource="pods"`, `name="web-*"`},
		},
		{
			"no request", "the operation stands for the verb",
			admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "n1",
				corev1.SchemeGroupVersion.WithResource("nodes"), "", admission.Delete, nil, false, nil),
			nil,
			[]string{`verb="delete"`, `resource="nodes"`, `name="n1"`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			ctx := klog.NewContext(t.Context(), logger)
			if test.info != nil {
				ctx = request.WithRequestInfo(ctx, test.info)
			}
			outcomeOf(hook, failure).record(ctx, validate, hook, test.attributes, 1500*time.Millisecond)
			log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
			for _, want := range append(test.want, `webhook="hook.example.com"`, `configuration="configuration"`) {
				if !strings.Contains(log, want) {
					t.Errorf("%s: want %s in the log, got %s", test.reason, want, log)
				}
			}
		})
	}
}
