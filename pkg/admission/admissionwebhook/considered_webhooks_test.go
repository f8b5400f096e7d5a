package admissionwebhook

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// matchingWebhook returns a webhook whose rules and selectors match each request. Its address has no server.
func matchingWebhook(name string) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name:         name,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
		}},
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
		SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
	}
}

// Validating webhooks are called after all of them have been compared with the request. If the request ends before the
// calls, the record says why the webhooks that match aren't called.
func TestMatchedAndNotCalled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		canceled     bool
		selector     metav1.LabelSelector // of the second webhook
		want         []trace.Reason
	}{
		{
			"a selector fails", "the second webhook refuses the request before the first webhook is called", false,
			metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "unknown"}}},
			[]trace.Reason{trace.RefusedEarlier, trace.MatchFailed, trace.RefusedEarlier},
		},
		{
			"the request has ended", "no webhook is called for a request that has timed out", true,
			metav1.LabelSelector{MatchLabels: map[string]string{"no": "label"}},
			[]trace.Reason{trace.TimedOut, trace.ObjectSelector, trace.TimedOut},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var hooks []admissionregistrationv1.ValidatingWebhook
			for _, name := range []string{"first", "second", "third"} {
				m := matchingWebhook(name)
				hooks = append(hooks, admissionregistrationv1.ValidatingWebhook{
					Name: name, ClientConfig: m.ClientConfig, Rules: m.Rules, NamespaceSelector: m.NamespaceSelector,
					ObjectSelector: m.ObjectSelector,
					SideEffects:    m.SideEffects, AdmissionReviewVersions: m.AdmissionReviewVersions,
				})
			}
			hooks[1].ObjectSelector = &test.selector
			plugin, err := NewValidating(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			client, factory := webhooktesting.NewFakeValidatingDataSource(namespace, hooks, t.Context().Done())
			start(t, plugin, testServer(t), webhooktesting.NewAuthenticationInfoResolver(new(int32)), client, factory)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.canceled {
				cancel()
			}
			step := &trace.Step{}
			recording := recorder.New(recorder.Limits{Requests: 1}).Begin(trace.Request{})
			ctx = recorder.Within(ctx, &recorder.Scope{Recording: recording, Pass: &recorder.Pass{Admission: trace.Admission{Steps: []*trace.Step{step}}}, Step: step})

			err = plugin.Validate(ctx, testAttributes(false, nil, false), webhooktesting.NewObjectInterfacesForTest())

			var got []trace.Reason
			for _, w := range step.Webhooks {
				got = append(got, w.Verdict.Reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err == nil {
				t.Errorf("%s: error %v, reasons (-want +got):\n%s", test.reason, err, diff)
			}
		})
	}
}

// A dry run of Recorder.Evaluate calls no webhook. The answer about the second round of mutating plugins is the same as
// for a request whose webhooks were called and changed nothing.
func TestSecondRoundOfAnEvaluation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		policy       admissionregistrationv1.ReinvocationPolicyType
		// changed is true if another plugin changes the object after the webhook's turn in the first round.
		changed bool
		again   trace.Reason // "" if the webhook would be called again
	}{
		{"never", "the policy forbids a second call", admissionregistrationv1.NeverReinvocationPolicy, true, trace.ReinvocationNever},
		{"unneeded", "the object is unchanged", admissionregistrationv1.IfNeededReinvocationPolicy, false, trace.ReinvocationUnneeded},
		{"needed", "another plugin has changed the object", admissionregistrationv1.IfNeededReinvocationPolicy, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			hook := matchingWebhook("hook")
			hook.ReinvocationPolicy = &test.policy
			plugin, err := NewMutating(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			client, factory := webhooktesting.NewFakeMutatingDataSource(namespace, []admissionregistrationv1.MutatingWebhook{hook}, t.Context().Done())
			start(t, plugin, testServer(t), webhooktesting.NewAuthenticationInfoResolver(new(int32)), client, factory)
			attributes, pass := testAttributes(false, nil, false), &recorder.Pass{}
			recording := recorder.New(recorder.Limits{}).Evaluate(trace.Request{})
			recording.Enter(pass)
			for round := range 2 {
				step := &trace.Step{Plugin: trace.MutatingPlugin, Round: round}
				pass.Steps = append(pass.Steps, step)
				if round > 0 {
					attributes.GetReinvocationContext().SetIsReinvoke()
				}
				ctx := recorder.Within(t.Context(), &recorder.Scope{Recording: recording, Pass: pass, Step: step})
				if err := plugin.Admit(ctx, attributes, webhooktesting.NewObjectInterfacesForTest()); err != nil {
					t.Fatal(err)
				}
				if test.changed {
					attributes.GetObject().(metav1.Object).SetLabels(map[string]string{"changed": "yes"})
				}
			}

			target := trace.Reference{Kind: trace.MutatingConfiguration, Name: "test-webhooks", Part: "hook"}
			answer := trace.Why(target, trace.Configured{Webhooks: []string{"hook"}, PluginOn: true}, recording.Finished(), true)[0]

			var again trace.Reason
			if answer.Again != nil {
				again = answer.Again.Reason
			}
			if !answer.Called || again != test.again {
				t.Errorf("%s: want a call, and then %q, got %+v", test.reason, test.again, answer)
			}
		})
	}
}
