package trace

import (
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
		{"webhooks that don't refuse", "the plugin failed after its webhook had allowed the request", Step{Plugin: ValidatingPlugin, Webhooks: []*Webhook{{Reference: hook, Verdict: Verdict{Reason: Matched}, Call: &Call{Outcome: Allowed}}}}, "refused: oh"},
		{"policies that don't refuse", "the plugin failed before the evaluation", Step{Plugin: MutatingPolicy, Policies: []*Policy{{Verdict: Verdict{Reason: Matched}}}}, "refused: oh"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.step.Error = &Error{Message: "oh"}
			pass := &Admission{Operation: "CREATE", Steps: []*Step{&test.step}}
			pass.Refuse(&test.step)
			var text strings.Builder
			if err := WriteTimeline(&text, &Request{Code: 500, Error: test.step.Error, Admissions: []*Admission{pass}}, Brief); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(text.String()), "\n")
			if got := strings.TrimSpace(lines[len(lines)-1]); got != test.want || strings.Count(text.String(), "oh") != 1 {
				t.Errorf("%s: want the last line %q and the error once, got\n%s", test.reason, test.want, &text)
			}
		})
	}
}
