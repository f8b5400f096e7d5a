package integration_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// samples returns the lines of /metrics for the given metrics that contain the argument "mine". All tests of the
// process share the metrics, so "mine" is a part of the names of a test's own webhooks and policies.
func samples(t testing.TB, srv *miniapitest.Server, mine string, metrics ...string) []string {
	t.Helper()
	content := must(srv.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context()))(t)
	var lines []string
	for line := range bytes.Lines(content) {
		line := strings.TrimSpace(string(line))
		if name, _, _ := strings.Cut(line, "{"); slices.Contains(metrics, name) && strings.Contains(line, mine) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// run is a prefix of the names of webhooks and policies. Each run of a test has a different prefix, because all tests
// of the process share the metrics.
type run string

func newRun() run { return run("run-" + string(uuid.NewUUID())[:8] + "-") }

// samples returns the lines of metrics with a name of this run, without the prefix.
func (r run) samples(t testing.TB, srv *miniapitest.Server, name string, metrics ...string) []string {
	t.Helper()
	lines := samples(t, srv, string(r)+name, metrics...)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], string(r), "")
	}
	return lines
}

// coded returns a webhook's handler that refuses requests with a status code.
func coded(code int32) http.Handler {
	response := miniapitest.Denied("no")
	response.Result.Code = code
	return always(response)
}

// The metrics of webhooks count rejected requests with the reason, ignored failures, and the duration of calls. Their
// labels are name, type, operation, error type and code. The cases matrix.metrics.* of the conformance suite don't test
// internal errors and codes above 600.
func TestMetricsOfWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	run := newRun()
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusBadGateway) })
	const (
		rejections = "apiserver_admission_webhook_rejection_count"
		failedOpen = "apiserver_admission_webhook_fail_open_count"
		requests   = "apiserver_admission_webhook_request_total"
		durations  = "apiserver_admission_webhook_admission_duration_seconds_count"
	)
	tests := []struct {
		name, reason string
		hook         hook
		want         []string // the lines after one request
	}{{
		name: "allowed", reason: "a request that is allowed is counted, and isn't a rejection",
		hook: validating("allowed-metrics", allow()),
		want: []string{
			durations + `{name="allowed-metrics.example.com",operation="CREATE",rejected="false",type="validating"} 1`,
			requests + `{code="200",name="allowed-metrics.example.com",operation="CREATE",rejected="false",type="validating"} 1`,
		},
	}, {
		name: "rejected", reason: "no_error is a decision of the webhook, with the code that it gave",
		hook: validating("rejected-metrics", coded(400)),
		want: []string{
			durations + `{name="rejected-metrics.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
			rejections + `{error_type="no_error",name="rejected-metrics.example.com",operation="CREATE",rejection_code="400",type="validating"} 1`,
			requests + `{code="400",name="rejected-metrics.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
		},
	}, {
		name: "mutating", reason: "the type of mutating webhooks is admit",
		hook: mutating("mutating-metrics", coded(418)),
		want: []string{
			durations + `{name="mutating-metrics.example.com",operation="CREATE",rejected="true",type="admit"} 1`,
			rejections + `{error_type="no_error",name="mutating-metrics.example.com",operation="CREATE",rejection_code="418",type="admit"} 1`,
			requests + `{code="418",name="mutating-metrics.example.com",operation="CREATE",rejected="true",type="admit"} 1`,
		},
	}, {
		name: "bounded", reason: "codes above 600 are counted as 600",
		hook: validating("bounded-metrics", coded(999)),
		want: []string{
			durations + `{name="bounded-metrics.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
			rejections + `{error_type="no_error",name="bounded-metrics.example.com",operation="CREATE",rejection_code="600",type="validating"} 1`,
			requests + `{code="600",name="bounded-metrics.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
		},
	}, {
		name: "failed", reason: "calling_webhook_error is a call that failed, under the failure policy Fail",
		hook: validating("failed-metrics", broken),
		want: []string{
			durations + `{name="failed-metrics.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
			rejections + `{error_type="calling_webhook_error",name="failed-metrics.example.com",operation="CREATE",rejection_code="502",type="validating"} 1`,
			requests + `{code="502",name="failed-metrics.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
		},
	}, {
		name: "ignored", reason: "under the failure policy Ignore, a failed call isn't a rejection: the call fails open",
		hook: validating("ignored-metrics", broken, failurePolicy(admissionregistrationv1.Ignore)),
		want: []string{
			durations + `{name="ignored-metrics.example.com",operation="CREATE",rejected="false",type="validating"} 1`,
			failedOpen + `{name="ignored-metrics.example.com",type="validating"} 1`,
			requests + `{code="502",name="ignored-metrics.example.com",operation="CREATE",rejected="false",type="validating"} 1`,
		},
	}, {
		name: "internal", reason: "apiserver_internal_error is a patch that can't be applied",
		hook: mutating("internal-metrics", patch(miniapitest.Remove("/spec/nothing"))),
		want: []string{
			durations + `{name="internal-metrics.example.com",operation="CREATE",rejected="true",type="admit"} 1`,
			rejections + `{error_type="apiserver_internal_error",name="internal-metrics.example.com",operation="CREATE",rejection_code="0",type="admit"} 1`,
			requests + `{code="0",name="internal-metrics.example.com",operation="CREATE",rejected="true",type="admit"} 1`,
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := test.hook.Name
			test.hook.Name = string(run) + name
			install(t, srv, test.hook)
			// This test ignores the result of the request, because other tests check it.
			_, _ = srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: test.name}}, metav1.CreateOptions{})
			if diff := cmp.Diff(test.want, run.samples(t, srv, name, rejections, failedOpen, requests, durations)); diff != "" {
				t.Errorf("%s: metrics (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The metrics count match conditions that are false, and match conditions that can't be evaluated.
func TestMetricsOfMatchConditions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	run := newRun()
	const (
		exclusions = "apiserver_admission_match_condition_exclusions_total"
		failures   = "apiserver_admission_match_condition_evaluation_errors_total"
	)
	tests := []struct {
		name, reason, expression string
		want                     []string
	}{
		{"excluded", "a false condition is no error", "false",
			[]string{exclusions + `{kind="webhook",name="excluded-condition.example.com",operation="CREATE",type="validate"} 1`}},
		{"failed", "a condition that can't be evaluated is counted as an error, and not as an exclusion",
			"object.nothing == 1",
			[]string{failures + `{kind="webhook",name="failed-condition.example.com",operation="CREATE",type="validating"} 1`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := validating(string(run)+test.name+"-condition", allow())
			h.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "c", Expression: test.expression}}
			install(t, srv, h)
			_, _ = srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: test.name}}, metav1.CreateOptions{})
			if diff := cmp.Diff(test.want, run.samples(t, srv, test.name+"-condition.example.com", exclusions, failures)); diff != "" {
				t.Errorf("%s: metrics (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The metrics count the decisions of policies, by policy, binding and action.
func TestMetricsOfPolicies(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	run := newRun()
	const checks = "apiserver_validating_admission_policy_check_total"
	for action, enforced := range map[admissionregistrationv1.ValidationAction]string{
		admissionregistrationv1.Deny: "deny", admissionregistrationv1.Audit: "audit", admissionregistrationv1.Warn: "warn",
	} {
		t.Run(enforced, func(t *testing.T) {
			name := string(run) + enforced + "-metrics"
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: []admissionregistrationv1.Validation{{Expression: "false"}}},
			}, binding(action))
			_, _ = srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			want := []string{checks + `{enforcement_action="` + enforced + `",error_type="invalid_error",policy="` + enforced + `-metrics",policy_binding="` + enforced + `-metrics"} 1`}
			if diff := cmp.Diff(want, run.samples(t, srv, enforced+"-metrics", checks)); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}
