package trace

import (
	"strings"
	"testing"
)

// The sentence about a failed call names the failurePolicy only if the failurePolicy decided.
func TestSentenceOfAFailedCall(t *testing.T) {
	t.Parallel()
	hook := Reference{MutatingConfiguration, "c", "hook"}
	for _, test := range []struct {
		name, reason, outcome string
		code                  int
		want                  string
	}{
		{"failed", "failurePolicy is Fail", Failed, 503, "the call failed, so its failurePolicy refused the request: oh"},
		{"failed open", "failurePolicy is Ignore", FailedOpen, 503, "the call failed, which its failurePolicy Ignore lets pass: oh"},
		{"unusable patch", "failurePolicy isn't about patches that can't be applied", Failed, 0, "the server couldn't use its answer, and refused the request, whatever its failurePolicy says: oh"},
		{"denied", "the webhook answered", Denied, 400, "it denied the request: oh"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			call := &Call{Outcome: test.outcome, Error: &Error{Code: test.code, Message: "oh"}}
			request := &Request{Admissions: []*Admission{{Steps: []*Step{{Webhooks: []*Webhook{{Reference: hook, Verdict: Verdict{Reason: Matched}, Call: call}}}}}}}
			answers := Why(hook, Configured{Webhooks: []string{"hook"}, PluginOn: true}, request, false)
			if len(answers) != 1 || !strings.HasSuffix(answers[0].Sentence, "it matches, and "+test.want+".") {
				t.Errorf("%s: want %q, got %+v", test.reason, test.want, answers)
			}
		})
	}
}
