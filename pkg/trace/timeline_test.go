package trace

import (
	"encoding/json"
	"strings"
	"testing"
)

// A brief timeline shows the error of a refused request once: in the line of the webhook or policy that refused it, or in
// a line of its own if the plugin itself refused it.
func TestTimelineShowsTheRefusal(t *testing.T) {
	t.Parallel()
	hook := Reference{ValidatingConfiguration, "c", "hook"}
	for _, test := range []struct {
		name, reason string
		step         Step
		want         string // the last line
	}{
		{"plugin", "the plugin has no webhooks", Step{Plugin: "ResourceQuota"}, "refused: oh"},
		{"webhook", "the response of the webhook is the error", Step{Plugin: ValidatingPlugin, Webhooks: []*Webhook{{Reference: hook, Verdict: Verdict{Reason: Matched}, Call: &Call{Outcome: Denied, Error: &Error{Message: "oh"}}}}}, "oh"},
		{"policy", "the message of the validation is the error", Step{Plugin: ValidatingPolicy, Policies: []*Policy{{
			Verdict: Verdict{Reason: Matched}, refused: &Reference{Kind: ValidatingPolicy},
			Bindings: []*Binding{{Verdict: Verdict{Reason: Matched}, Evaluations: []*Evaluation{{Verdict: Verdict{Reason: Matched}, Outcome: Failed, Error: "oh"}}}},
		}}}, "oh"},
		{"webhooks that don't refuse", "the plugin failed after its webhook had allowed the request", Step{Plugin: ValidatingPlugin, Webhooks: []*Webhook{{Reference: hook, Verdict: Verdict{Reason: Matched}, Call: &Call{Outcome: Allowed}}}}, "refused: oh"},
		{"policies that don't refuse", "the plugin failed before the evaluation", Step{Plugin: MutatingPolicy, Policies: []*Policy{{Verdict: Verdict{Reason: Matched}}}}, "refused: oh"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.step.Error = &Error{Message: "oh"}
			pass := &Admission{Operation: "CREATE", Steps: []*Step{&test.step}}
			pass.Refuse(&test.step)
			var text strings.Builder
			if err := WriteTimeline(&text, decoded(t, &Request{Code: 500, Error: test.step.Error, Admissions: []*Admission{pass}}), Brief); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(text.String()), "\n")
			if got := strings.TrimSpace(lines[len(lines)-1]); got != test.want || strings.Count(text.String(), "oh") != 1 {
				t.Errorf("%s: want the last line %q and the error once, got\n%s", test.reason, test.want, &text)
			}
		})
	}
}

// decoded returns a request as a client of the server gets it.
func decoded(t *testing.T, request *Request) *Request {
	t.Helper()
	encoded, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	received := &Request{}
	if err := json.Unmarshal(encoded, received); err != nil {
		t.Fatal(err)
	}
	return received
}
