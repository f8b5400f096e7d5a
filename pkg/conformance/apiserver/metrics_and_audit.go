package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// observed has the cases about the metrics and audit events of admission.
var observed = []trial.Test{
	{
		ID: "metrics.conditions", Source: reference + "Metrics", Needs: []trial.Need{trial.Metrics, trial.Since(30)},
		Promise: "Evaluations of match conditions are counted with the webhook, the kind, the operation and the step: their duration, exclusions, and errors.",
		Run: func(t *trial.T) {
			var hooks []*trial.Hook
			for name, expression := range map[string]string{"false": "false", "broken": "object.none == 'a'"} {
				changes := []trial.Change{trial.When("condition", expression), trial.Fails(ignore), t.Own}
				hooks = append(hooks, trial.Mutating("mutating-"+name, trial.Allow(), changes...), trial.Validating("validating-"+name, trial.Allow(), changes...))
			}
			for _, h := range hooks {
				h.Name = t.Name(h.Short) + ".conformance.miniapi.dev"
			}
			t.Install(hooks...)
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Called()
			var want []string
			for _, c := range []struct{ family, hook, step string }{
				{"evaluation_seconds_count", "mutating-false", "admit"}, {"evaluation_seconds_count", "mutating-broken", "admit"},
				{"evaluation_seconds_count", "validating-false", "validating"},
				{"evaluation_seconds_count", "validating-broken", "validating"},
				{"evaluation_errors_total", "mutating-broken", "admit"}, {"evaluation_errors_total", "validating-broken", "validating"},
				{"exclusions_total", "mutating-false", "admit"}, {"exclusions_total", "mutating-broken", "admit"},
				{"exclusions_total", "validating-false", "validate"}, {"exclusions_total", "validating-broken", "validate"},
			} {
				want = append(want, fmt.Sprintf(`apiserver_admission_match_condition_%s{kind="webhook",name="%s.conformance.miniapi.dev",operation="CREATE",type="%s"} 1`, c.family, t.Name(c.hook), c.step))
			}
			series(t, want)
		},
	},
	{
		ID: "metrics.timeout", Source: dynamic + "API server admission webhook rejection count",
		Needs: []trial.Need{trial.Metrics}, Cost: 3 * time.Second,
		Promise: "A rejection because a call has timed out is counted as a calling_webhook_error with the code 503.",
		Run: func(t *trial.T) {
			var want []string
			for _, hook := range pairOf(t.Hang(), trial.Within(1)) {
				step := map[string]string{"mutating": "admit", "validating": "validating"}[hook.Short]
				hook.Name = t.Name(hook.Short) + ".conformance.miniapi.dev"
				on := installApart(t, hook)
				refusedByFailure(t, t.Create(on, t.Object(on, "a")))
				want = append(want, fmt.Sprintf(`apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="%s",operation="CREATE",rejection_code="503",type="%s"} 1`, hook.Name, step))
			}
			seen := slices.DeleteFunc(metrics(t), func(line string) bool {
				return !strings.HasPrefix(line, "apiserver_admission_webhook_rejection_count{") || !strings.Contains(line, t.Name(""))
			})
			sameTexts(t, "series", want, seen)
		},
	},
	{
		ID: "metrics.steps", Source: reference + "Metrics", Needs: []trial.Need{trial.Metrics},
		Promise: "The durations of the steps and plugins of admission are counted with the operation, and whether they refuse the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "no")))
			counted := []string{
				`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="false",type="admit"}`,
				`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="validate"}`,
				`apiserver_admission_step_admission_duration_seconds_summary_count{operation="CREATE",rejected="true",type="validate"}`,
				`apiserver_admission_controller_admission_duration_seconds_count{name="MutatingAdmissionWebhook",operation="CREATE",rejected="false",type="admit"}`,
				`apiserver_admission_controller_admission_duration_seconds_count{name="ValidatingAdmissionWebhook",operation="CREATE",rejected="true",type="validate"}`,
			}
			count := func() map[string]int {
				counts := map[string]int{}
				for _, line := range metrics(t) {
					name, value, _ := strings.Cut(line, "} ")
					counts[name+"}"], _ = strconv.Atoi(value) // the value of a counter of the case is a small number
				}
				return counts
			}
			before := count()
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot)
			after := count()
			for _, name := range counted {
				t.True(after[name] > before[name], "a greater number of "+name, fmt.Sprint(after[name]))
			}
		},
	},
	{
		ID: "audit.policy", Source: policyPages + "Audit annotations", Needs: []trial.Need{trial.AuditLog, trial.Serves(trial.Policies)},
		Promise: "Under the action Audit, a validation failure is in the annotation validation.policy.admission.k8s.io/validation_failure.",
		Run: func(t *trial.T) {
			p := t.Policy("p", validation("false", "noted"))
			t.Enforce(p, t.Binding(p, "Audit"))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			a.OK()
			value, _ := t.AuditEvent(a).Sub("annotations")["validation.policy.admission.k8s.io/validation_failure"].(string)
			for _, words := range []string{"noted", p.Name(), `"Audit"`} {
				t.Contains("the annotation", words, value)
			}
		},
	},
}

// webhookIndex is the part of an annotation's key that depends on the other webhooks of the server.
var webhookIndex = regexp.MustCompile(`_index_\d+$`)

// annotation returns an annotation whose value is JSON, as annotations compares it.
func annotation(key string, value trial.Object) string {
	encoded, _ := json.Marshal(value) // the object consists of JSON's types
	return key + ": " + string(encoded)
}

// annotations checks the annotations that webhooks cause in the audit event of an answer. The keys are compared without
// the index of the webhook.
func annotations(t *trial.T, a *trial.Answer, want []string) {
	seen := []string{}
	for key, value := range t.AuditEvent(a).Sub("annotations") {
		if !strings.Contains(key, "webhook.admission.k8s.io/") && !strings.Contains(key, ".conformance.miniapi.dev/") {
			continue
		}
		key, text := webhookIndex.ReplaceAllString(key, ""), fmt.Sprint(value)
		if decoded := trial.Decoded(text); decoded != nil {
			seen = append(seen, annotation(key, decoded))
		} else {
			seen = append(seen, key+": "+text)
		}
	}
	sameTexts(t, "annotations of webhooks", want, seen)
}

// sameTexts checks that there are the expected texts, in any order. The finding has the difference.
func sameTexts(t *trial.T, what string, want, seen []string) {
	slices.Sort(want)
	slices.Sort(seen)
	if slices.Equal(want, seen) {
		return
	}
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
	}
	t.Fail(fmt.Sprintf("the %d %s, with %q", len(want), what, without(want, seen)), fmt.Sprintf("%d, with %q", len(seen), without(seen, want)))
}

// metrics returns the lines of the server's metrics.
func metrics(t *trial.T) []string {
	a := t.Do(trial.Request{Verb: http.MethodGet, Path: "/metrics", Header: http.Header{"Accept": {"text/plain"}}})
	return strings.Split(strings.TrimSpace(string(a.Body)), "\n")
}

// series checks the counters of the metrics that name a webhook of the case.
func series(t *trial.T, want []string) {
	seen := slices.DeleteFunc(metrics(t), func(line string) bool {
		return !strings.Contains(line, `name="`+t.Name("")) || strings.Contains(line, "_bucket{") || strings.Contains(line, "_sum{")
	})
	sameTexts(t, "series", want, seen)
}
