package recorder

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// A refusal names the webhook whose verdict refused the request.
func TestARefusalNamesTheWebhookOfTheVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		verdict      trace.Verdict
		named        bool
	}{
		{name: "a selector fails", reason: "failurePolicy doesn't apply to selectors",
			verdict: trace.Verdict{Reason: trace.MatchFailed}, named: true},
		{name: "a condition fails", reason: "failurePolicy Fail refuses",
			verdict: trace.Verdict{Reason: trace.MatchConditionRefused, Want: "Fail"}, named: true},
		{name: "a condition fails, ignored", reason: "failurePolicy Ignore leaves the webhook out",
			verdict: trace.Verdict{Reason: trace.MatchConditionFailed, Want: "Ignore"}},
		{name: "conditions cost too much", reason: "failurePolicy Fail refuses",
			verdict: trace.Verdict{Reason: trace.MatchConditionCost, Want: "Fail"}, named: true},
		{name: "conditions cost too much, ignored", reason: "failurePolicy Ignore leaves the webhook out",
			verdict: trace.Verdict{Reason: trace.MatchConditionCost, Want: "Ignore"}},
		{name: "side effects in a dry run", reason: "the detail is the error of the refusal",
			verdict: trace.Verdict{Reason: trace.DryRunSideEffects, Detail: "refused"}, named: true},
		{name: "side effects in a dry run, ignored", reason: "the verdict has no error",
			verdict: trace.Verdict{Reason: trace.DryRunSideEffects}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			webhook := trace.Webhook{Reference: trace.Reference{Name: "hook.example.com"}, Verdict: c.verdict}
			step := &trace.Step{Plugin: "ValidatingAdmissionWebhook", Error: &trace.Error{Message: "refused"}, Webhooks: []*trace.Webhook{&webhook}}
			var pass Pass
			pass.refused(step)
			if named := pass.Refused.Webhook != nil; named != c.named {
				t.Errorf("%s: want the refusal to name the webhook: %t, got %t", c.reason, c.named, named)
			}
		})
	}
}
