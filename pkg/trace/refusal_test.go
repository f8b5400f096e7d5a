package trace

import "testing"

// A refusal names the webhook whose verdict refused the request.
func TestARefusalNamesTheWebhookOfTheVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		verdict      Verdict
		named        bool
	}{
		{name: "a selector fails", reason: "failurePolicy doesn't apply to selectors", verdict: Verdict{Reason: MatchFailed}, named: true},
		{name: "a condition fails", reason: "failurePolicy Fail refuses", verdict: Verdict{Reason: MatchConditionRefused, Want: "Fail"}, named: true},
		{name: "a condition fails, ignored", reason: "failurePolicy Ignore leaves the webhook out", verdict: Verdict{Reason: MatchConditionFailed, Want: "Ignore"}},
		{name: "conditions cost too much", reason: "failurePolicy Fail refuses", verdict: Verdict{Reason: MatchConditionCost, Want: "Fail"}, named: true},
		{name: "conditions cost too much, ignored", reason: "failurePolicy Ignore leaves the webhook out", verdict: Verdict{Reason: MatchConditionCost, Want: "Ignore"}},
		{name: "side effects in a dry run", reason: "the detail is the error of the refusal", verdict: Verdict{Reason: DryRunSideEffects, Detail: "refused"}, named: true},
		{name: "side effects in a dry run, ignored", reason: "the verdict has no error", verdict: Verdict{Reason: DryRunSideEffects}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			webhook := Webhook{Reference: Reference{Name: "hook.example.com"}, Verdict: c.verdict}
			step := &Step{Plugin: "ValidatingAdmissionWebhook", Error: &Error{Message: "refused"}, Webhooks: []*Webhook{&webhook}}
			var a Admission
			a.Refuse(step)
			if named := a.Refused.Webhook != nil; named != c.named {
				t.Errorf("%s: want the refusal to name the webhook: %t, got %t", c.reason, c.named, named)
			}
		})
	}
}
