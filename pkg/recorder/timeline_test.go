package recorder

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// A brief timeline shows the error of a refused request once: in the line of the webhook or policy that refused it, or in
// a line of its own if the plugin itself refused it.
func TestTimelineShowsTheRefusal(t *testing.T) {
	t.Parallel()
	hook := trace.Reference{Kind: trace.ValidatingConfiguration, Name: "c", Part: "hook"}
	for _, test := range []struct {
		name, reason string
		step         trace.Step
		refuses      bool   // whether the policy of the step refuses the request
		want         string // the last line
	}{
		{"plugin", "the plugin has no webhooks", trace.Step{Plugin: "ResourceQuota"}, false, "refused: oh"},
		{"webhook", "the response of the webhook is the error",
			trace.Step{Plugin: trace.ValidatingPlugin, Webhooks: []*trace.Webhook{{Reference: hook, Verdict: trace.Verdict{Reason: trace.Matched}, Call: &trace.Call{Outcome: trace.Denied, Error: &trace.Error{Message: "oh"}}}}},
			false, "oh"},
		{"policy", "the message of the validation is the error", trace.Step{Plugin: trace.ValidatingPolicy, Policies: []*trace.Policy{{
			Verdict:  trace.Verdict{Reason: trace.Matched},
			Bindings: []*trace.Binding{{Verdict: trace.Verdict{Reason: trace.Matched}, Evaluations: []*trace.Evaluation{{Verdict: trace.Verdict{Reason: trace.Matched}, Outcome: trace.Failed, Error: "oh"}}}},
		}}}, true, "oh"},
		{"webhooks that don't refuse", "the plugin failed after its webhook had allowed the request",
			trace.Step{Plugin: trace.ValidatingPlugin, Webhooks: []*trace.Webhook{{Reference: hook, Verdict: trace.Verdict{Reason: trace.Matched}, Call: &trace.Call{Outcome: trace.Allowed}}}},
			false, "refused: oh"},
		{"policies that don't refuse", "the plugin failed before the evaluation",
			trace.Step{Plugin: trace.MutatingPolicy, Policies: []*trace.Policy{{Verdict: trace.Verdict{Reason: trace.Matched}}}},
			false, "refused: oh"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.step.Error = &trace.Error{Message: "oh"}
			pass := &Pass{Admission: trace.Admission{Operation: "CREATE", Steps: []*trace.Step{&test.step}}}
			if test.refuses {
				pass.Refuse(test.step.Policies[0], nil)
			}
			pass.refused(&test.step)
			var text strings.Builder
			if err := trace.WriteTimeline(&text, decoded(t, &trace.Request{Code: 500, Error: test.step.Error, Admissions: []*trace.Admission{&pass.Admission}}), trace.Brief); err != nil {
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
func decoded(t *testing.T, request *trace.Request) *trace.Request {
	t.Helper()
	encoded, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	received := &trace.Request{}
	if err := json.Unmarshal(encoded, received); err != nil {
		t.Fatal(err)
	}
	return received
}
