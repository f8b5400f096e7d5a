package trace

import (
	"strings"
	"testing"
)

// The sentence about a failed call names the failurePolicy as the cause only if the failurePolicy decided.
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
		{"unusable patch", "failurePolicy isn't about patches that can't be applied", Failed, 0,
			"the server couldn't use its answer, and refused the request, whatever its failurePolicy says: oh"},
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

// An answer about a mutating policy says why the second round didn't evaluate the policy.
func TestSecondRoundOfAPolicy(t *testing.T) {
	t.Parallel()
	target := Reference{Kind: MutatingPolicy, Name: "p"}
	matched, selector := Verdict{Reason: Matched}, Verdict{Reason: ObjectSelector}
	record := func(policy, binding, evaluation Verdict, outcome string) *Policy {
		p := &Policy{Reference: target, Verdict: policy}
		if policy.Reason == Matched {
			p.Bindings = []*Binding{{Name: "b", Verdict: binding}}
		}
		if policy.Reason == Matched && binding.Reason == Matched {
			p.Bindings[0].Evaluations = []*Evaluation{{Verdict: evaluation, Outcome: outcome}}
		}
		return p
	}
	for _, test := range []struct {
		name, reason string
		second       *Policy
		want         Reason // the reason in Answer.Again; "" if Again must be nil
	}{
		{"no second round", "nothing changed the object", nil, ""},
		{"evaluated", "the policy was evaluated in both rounds", record(matched, matched, matched, Allowed), ""},
		{"policy", "the policy no longer matches the changed object", record(selector, Verdict{}, Verdict{}, ""), ObjectSelector},
		{"binding", "the binding no longer matches the changed object", record(matched, selector, Verdict{}, ""), ObjectSelector},
		{"unneeded", "nothing had changed the object",
			record(matched, matched, Verdict{Reason: ReinvocationUnneeded}, ""), ReinvocationUnneeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pass := &Admission{Steps: []*Step{{Policies: []*Policy{record(matched, matched, matched, Allowed)}}}}
			if test.second != nil {
				pass.Steps = append(pass.Steps, &Step{Round: 1, Policies: []*Policy{test.second}})
			}
			answers := Why(target, Configured{Webhooks: []string{"b"}, PluginOn: true}, &Request{Admissions: []*Admission{pass}}, false)
			if len(answers) != 1 || !answers[0].Called {
				t.Fatalf("%s: want one answer, that the policy was evaluated, got %+v", test.reason, answers)
			}
			var got Reason
			if answers[0].Again != nil {
				got = answers[0].Again.Reason
			}
			if got != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}
