package admissionwebhook

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// If a webhook isn't called because the request is a dry run, the record says whether the server refused the request.
func TestRecordOfADryRun(t *testing.T) {
	t.Parallel()
	some := admissionregistrationv1.SideEffectClassSome
	fail, ignore := admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	for _, test := range []struct {
		name, reason string
		effects      *admissionregistrationv1.SideEffectClass
		policy       admissionregistrationv1.FailurePolicyType
		refused      bool
	}{
		{"some", "no webhook with side effects is called", &some, fail, true},
		{"some, ignored", "failurePolicy isn't about side effects", &some, ignore, true},
		{"missing", "missing sideEffects count as a failed call", nil, fail, true},
		{"missing, ignored", "failurePolicy Ignore lets failed calls pass", nil, ignore, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			hook := matchingWebhook("hook")
			hook.SideEffects, hook.FailurePolicy = test.effects, &test.policy
			plugin, err := NewMutating(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			client, factory := webhooktesting.NewFakeMutatingDataSource(namespace, []admissionregistrationv1.MutatingWebhook{hook}, t.Context().Done())
			start(t, plugin, testServer(t), webhooktesting.NewAuthenticationInfoResolver(new(int32)), client, factory)
			step := &trace.Step{}
			recording := recorder.New(recorder.Limits{Requests: 1}).Begin(trace.Request{})
			ctx := recorder.Within(t.Context(), &recorder.Scope{Recording: recording, Pass: &recorder.Pass{Admission: trace.Admission{Steps: []*trace.Step{step}}}, Step: step})

			err = plugin.Admit(ctx, testAttributes(false, nil, true), webhooktesting.NewObjectInterfacesForTest())

			verdict := step.Webhooks[0].Verdict
			if verdict.Reason != trace.DryRunSideEffects || verdict.Refuses() != test.refused || (err != nil) != test.refused {
				t.Errorf("%s: want refused %t, got error %v and %+v", test.reason, test.refused, err, verdict)
			}
		})
	}
}
