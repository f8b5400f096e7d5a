package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// observed has the cases about the metrics and audit events of admission.
var observed = []trial.Test{
	{
		ID: "metrics.rejection.noError", Source: dynamic + "API server admission webhook rejection count", Needs: []trial.Need{trial.Metrics},
		Promise: "A rejection by a webhook is counted with name, operation, type, the error_type no_error, and the code of its status.",
		Run: func(t *trial.T) {
			hook := trial.Validating(t.Name("denies"), trial.Deny(http.StatusTeapot, "no"))
			t.Install(hook)
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot)
			rejected(t, map[string]string{"name": hook.Name, "operation": "CREATE", "type": "validating", "error_type": "no_error", "rejection_code": "418"})
		},
	},
	{
		ID: "metrics.rejection.mutating", Source: dynamic + "API server admission webhook rejection count", Needs: []trial.Need{trial.Metrics},
		Promise: "The type of a mutating webhook's rejection is admit.",
		Run: func(t *trial.T) {
			hook := trial.Mutating(t.Name("denies"), trial.Deny(http.StatusTeapot, "no"))
			t.Install(hook)
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot)
			rejected(t, map[string]string{"name": hook.Name, "operation": "CREATE", "type": "admit", "error_type": "no_error", "rejection_code": "418"})
		},
	},
	{
		ID: "metrics.rejection.callingError", Source: dynamic + "API server admission webhook rejection count", Needs: []trial.Need{trial.Metrics},
		Promise: "A rejection because a call failed under the failure policy Fail has the error_type calling_webhook_error.",
		Run: func(t *trial.T) {
			hook := trial.Validating(t.Name("fails"), trial.Raw(http.StatusInternalServerError, []byte{}))
			t.Install(hook)
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
			rejected(t, map[string]string{"name": hook.Name, "operation": "CREATE", "type": "validating", "error_type": "calling_webhook_error"})
		},
	},
	{
		ID: "audit.mutation", Source: dynamic + "Mutating webhook auditing annotations", Needs: []trial.Need{trial.AuditLog},
		Promise: "Each invocation of a mutating webhook generates an annotation with configuration, webhook, and whether it mutated the object.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutates", trial.Patch(trial.Add("/data/added", "yes"))), trial.Mutating("passes", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			annotated(t, "mutation.webhook.admission.k8s.io/round_0_index_", trial.Object{"configuration": t.Name("mutates"), "webhook": "mutates.conformance.miniapi.dev", "mutated": true})
			annotated(t, "mutation.webhook.admission.k8s.io/round_0_index_", trial.Object{"configuration": t.Name("passes"), "webhook": "passes.conformance.miniapi.dev", "mutated": false})
		},
	},
	{
		ID: "audit.patch", Source: dynamic + "Mutating webhook auditing annotations", Needs: []trial.Need{trial.AuditLog},
		Promise: "At the audit level Request or higher, an annotation has the patch that was applied.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutates", trial.Patch(trial.Add("/data/added", "yes"))))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			annotated(t, "patch.webhook.admission.k8s.io/round_0_index_", trial.Object{
				"configuration": t.Name("mutates"), "webhook": "mutates.conformance.miniapi.dev", "patchType": "JSONPatch",
				"patch": []any{trial.Object{"op": "add", "path": "/data/added", "value": "yes"}},
			})
		},
	},
	{
		ID: "audit.round", Source: dynamic + "Mutating webhook auditing annotations", Needs: []trial.Need{trial.AuditLog},
		Promise: "The annotation of a webhook that is invoked again names the round.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			annotated(t, "mutation.webhook.admission.k8s.io/round_1_index_", trial.Object{"configuration": t.Name("a"), "webhook": "a.conformance.miniapi.dev", "mutated": false})
		},
	},
	{
		ID: "audit.webhook", Source: reference + "AdmissionResponse", Needs: []trial.Need{trial.AuditLog},
		Promise: "auditAnnotations of a response are in the audit event, with the webhook's name in front.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": true, "auditAnnotations": trial.Object{"seen": "today"}})))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			value := ""
			t.Eventually("an annotation hook.conformance.miniapi.dev/seen", auditTimeout, func() string {
				for _, event := range t.AuditEvents() {
					if seen, is := event.Sub("annotations")["hook.conformance.miniapi.dev/seen"].(string); is {
						value = seen
						return ""
					}
				}
				return "no audit event has the annotation"
			})
			t.Equal("the annotation", "today", value)
		},
	},
	{
		ID: "audit.policy", Source: policyPages + "Audit annotations", Needs: []trial.Need{trial.AuditLog, trial.Serves(trial.Policies)},
		Promise: "Under the action Audit, a validation failure is in the annotation validation.policy.admission.k8s.io/validation_failure.",
		Run: func(t *trial.T) {
			p := t.Policy("p", validation("false", "noted"))
			t.Enforce(p, t.Binding(p, "Audit"))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			value := ""
			t.Eventually("an annotation of the failure", auditTimeout, func() string {
				for _, event := range t.AuditEvents() {
					if seen, is := event.Sub("annotations")["validation.policy.admission.k8s.io/validation_failure"].(string); is {
						value = seen
						return ""
					}
				}
				return "no audit event has the annotation"
			})
			for _, words := range []string{"noted", p.Name(), `"Audit"`} {
				t.Contains("the annotation", words, value)
			}
		},
	},
}

// auditTimeout limits the time until an event is in the file of the audit log.
const auditTimeout = 10 * time.Second

// rejected checks that the metric of rejections has exactly one series for the webhook, with the labels and the value
// 1.
func rejected(t *trial.T, labels map[string]string) {
	const series = "apiserver_admission_webhook_rejection_count{"
	seen := []string{}
	for line := range strings.Lines(string(t.Do(trial.Request{Verb: http.MethodGet, Path: "/metrics", Header: http.Header{"Accept": {"text/plain"}}}).Body)) {
		if strings.HasPrefix(line, series) && strings.Contains(line, fmt.Sprintf("name=%q", labels["name"])) {
			seen = append(seen, strings.TrimSpace(line))
		}
	}
	if len(seen) != 1 {
		t.FailNow("one series of "+series, fmt.Sprintf("%d: %q", len(seen), seen))
	}
	for label, value := range labels {
		t.Contains("the series", fmt.Sprintf("%s=%q", label, value), seen[0])
	}
	t.True(strings.HasSuffix(seen[0], " 1"), "the value 1", seen[0])
}

// annotated waits until an audit event has an annotation whose key has the prefix and whose value is the JSON of want.
func annotated(t *trial.T, prefix string, want trial.Object) {
	t.Eventually(fmt.Sprintf("an audit annotation %s… with the value %v", prefix, want), auditTimeout, func() string {
		var others []string
		for _, event := range t.AuditEvents() {
			for key, value := range event.Sub("annotations") {
				text, _ := value.(string)
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				if trial.Same(want, trial.Decoded(text)) {
					return ""
				}
				others = append(others, key+": "+text)
			}
		}
		return fmt.Sprintf("there are %q", others)
	})
}
