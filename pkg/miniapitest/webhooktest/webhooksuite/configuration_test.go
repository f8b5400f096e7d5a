package webhooksuite_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// rightConfiguration is a configuration in which no case finds a fault.
const rightConfiguration = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: right}
webhooks:
- name: pods.right.example.com
  admissionReviewVersions: [v1, v1beta1]
  sideEffects: None
  failurePolicy: Fail
  matchPolicy: Equivalent
  timeoutSeconds: 5
  clientConfig: {service: {namespace: right-system, name: right, path: /mutate}}
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, right-system]}]}
  rules: [{operations: [CREATE, UPDATE, DELETE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
`

// configured returns the webhook of a configuration in YAML. An empty text stands for rightConfiguration.
func configured(t *testing.T, text string) webhooksuite.Hook {
	t.Helper()
	if text == "" {
		text = rightConfiguration
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	c, err := webhooksuite.NewConfiguration(object)
	if err != nil {
		t.Fatal(err)
	}
	return webhooksuite.Hook{Name: c.Name + "/" + c.Hooks[0].Name, Kind: c.Kind, Configuration: c, Entry: c.Hooks[0], Endpoint: webhooksuite.Endpoint{URL: "https://127.0.0.1:1/"}}
}

// Each table row makes one change to the right configuration. The row's field "by" is the identifier of
// the case that must have a finding about this change. Without a change, no case has a finding.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, by string
		level    webhooksuite.Level
		old, new string
	}{
		{"right", "", "", "", ""},
		{"no side effects", "config.sideEffects", webhooksuite.LevelError, "  sideEffects: None\n", ""},
		{"some side effects", "config.sideEffects", webhooksuite.LevelError, "sideEffects: None", "sideEffects: Some"},
		{"no versions", "config.reviewVersions", webhooksuite.LevelError, "  admissionReviewVersions: [v1, v1beta1]\n", ""},
		{"beta alone", "config.reviewVersions", webhooksuite.LevelWarning, "[v1, v1beta1]", "[v1beta1]"},
		{"short name", "config.name", webhooksuite.LevelError, "pods.right.example.com", "pods"},
		{"beta configuration", "config.apiVersion", webhooksuite.LevelWarning, "admissionregistration.k8s.io/v1",
			"admissionregistration.k8s.io/v1beta1"},
		{"http", "config.clientConfig", webhooksuite.LevelError,
			"{service: {namespace: right-system, name: right, path: /mutate}}", `{url: "http://example.com/"}`},
		{"query", "config.clientConfig", webhooksuite.LevelError,
			"{service: {namespace: right-system, name: right, path: /mutate}}", `{url: "https://example.com/?a=b"}`},
		{"no client", "config.clientConfig", webhooksuite.LevelError,
			"{service: {namespace: right-system, name: right, path: /mutate}}", `{}`},
		{"host of a service", "config.clientConfig", webhooksuite.LevelWarning,
			"{service: {namespace: right-system, name: right, path: /mutate}}",
			`{url: "https://right.right-system.svc/"}`},
		{"loopback", "config.clientConfig", webhooksuite.LevelWarning,
			"{service: {namespace: right-system, name: right, path: /mutate}}", `{url: "https://127.0.0.1:9443/"}`},
		{"bundle of text", "config.caBundle", webhooksuite.LevelError, "{service: {", "{caBundle: bm9uZQ==, service: {"},
		{"long timeout", "config.timeout", webhooksuite.LevelAdvice, "timeoutSeconds: 5", "timeoutSeconds: 11"},
		{"too long timeout", "config.timeout", webhooksuite.LevelError, "timeoutSeconds: 5", "timeoutSeconds: 31"},
		{"ignored mutation", "config.ignoreMutation", webhooksuite.LevelWarning, "failurePolicy: Fail", "failurePolicy: Ignore"},
		{"all resources", "config.scope", webhooksuite.LevelWarning, "resources: [pods]", `resources: ["*"]`},
		{"all groups", "config.scope", webhooksuite.LevelWarning, `apiGroups: [""]`, `apiGroups: ["*"]`},
		{"all operations", "config.scope", webhooksuite.LevelAdvice, `[CREATE, UPDATE, DELETE]`, `["*"]`},
		{"kube-system", "config.kubeSystem", webhooksuite.LevelWarning, "values: [kube-system, right-system]", "values: [right-system]"},
		{"own namespace", "config.ownNamespace", webhooksuite.LevelError, "values: [kube-system, right-system]", "values: [kube-system]"},
		{"own deletion", "config.ownDeletion", webhooksuite.LevelError, "values: [kube-system, right-system]", "values: [kube-system]"},
		{"control plane", "config.controlPlane", webhooksuite.LevelError, "values: [kube-system, right-system]", "values: [right-system]"},
		{"cluster's resources", "config.controlPlane", webhooksuite.LevelError, `apiGroups: [""], apiVersions: [v1], resources: [pods]`,
			"apiGroups: [authentication.k8s.io], apiVersions: [v1], resources: [tokenreviews]"},
		{"no timeout", "config.timeout", webhooksuite.LevelAdvice, "  timeoutSeconds: 5\n", ""},
		{"no selector", "config.selectors", webhooksuite.LevelAdvice,
			"  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, right-system]}]}\n",
			""},
		{"exact", "config.matchPolicy", webhooksuite.LevelWarning, "matchPolicy: Equivalent", "matchPolicy: Exact"},
		{"beta versions", "config.stableVersions", webhooksuite.LevelAdvice, "apiVersions: [v1]", "apiVersions: [v1beta1]"},
		{"exempt", "config.exempt", webhooksuite.LevelAdvice, `apiGroups: [""], apiVersions: [v1], resources: [pods]`,
			"apiGroups: [admissionregistration.k8s.io], apiVersions: [v1], resources: [mutatingwebhookconfigurations]"},
		{"no rules", "config.rules", webhooksuite.LevelError,
			`[{operations: [CREATE, UPDATE, DELETE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`, "[]"},
		{"no operations", "config.rules", webhooksuite.LevelError, "operations: [CREATE, UPDATE, DELETE], ", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(rightConfiguration, tc.old, tc.new, 1)
			if tc.by != "" && text == rightConfiguration {
				t.Fatal("the row changes nothing")
			}
			suite := &webhooksuite.Suite{Hooks: []webhooksuite.Hook{configured(t, text)}}
			found := false
			for _, c := range webhooksuite.Cases() {
				if !strings.HasPrefix(c.ID, "config.") {
					continue
				}
				findings, err := c.Run(context.Background(), suite)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range findings {
					switch {
					case tc.by == "":
						t.Errorf("%s: %s", c.ID, f.Seen)
					case c.ID == tc.by:
						found = true
						if f.Level != tc.level {
							t.Errorf("%s: want the level %s, got %s: %s", c.ID, tc.level, f.Level, f.Seen)
						}
					}
				}
			}
			if tc.by != "" && !found {
				t.Errorf("%s finds nothing", tc.by)
			}
		})
	}
}

// Unusual rules and selectors that do no harm have no finding.
func TestHarmlessConfigurations(t *testing.T) {
	t.Parallel()
	const namespaces = "  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, right-system]}]}\n"
	for _, tc := range []struct{ name, old, new string }{
		{"custom resources are in no kube-system", namespaces, ""},
		{"opted in by namespace",
			"{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, right-system]}]}",
			"{matchLabels: {right.example.com/enabled: 'true'}}"},
		{"all custom resources of a group", `apiGroups: [""], apiVersions: [v1], resources: [pods]`,
			`apiGroups: [example.com], apiVersions: [v1], resources: ["*/*"]`},
		{"excluded by a condition", namespaces,
			`  matchConditions: [{name: not-the-system, expression: "!(request.namespace in ['kube-system', 'right-system'])"}]` + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(rightConfiguration, tc.old, tc.new, 1)
			if strings.HasPrefix(tc.name, "custom") {
				text = strings.Replace(text, `apiGroups: [""]`, "apiGroups: [example.com]", 1)
			}
			suite := &webhooksuite.Suite{Hooks: []webhooksuite.Hook{configured(t, text)}}
			for _, c := range webhooksuite.Cases() {
				if !strings.HasPrefix(c.ID, "config.") {
					continue
				}
				findings, err := c.Run(context.Background(), suite)
				if err != nil || len(findings) > 0 {
					t.Errorf("%s: %v, error %v", c.ID, findings, err)
				}
			}
		})
	}
}

// The suite waits for a webhook as long as an API server does. API servers write the time into the query parameter
// timeout.
func TestTimeoutOfCalls(t *testing.T) {
	t.Parallel()
	const beta = "admissionregistration.k8s.io/v1beta1"
	for _, tc := range []struct{ name, reason, version, timeout, want string }{
		{"v1", "the default of v1 is 10 seconds", "admissionregistration.k8s.io/v1", "", "10s"},
		{"v1beta1", "the default of v1beta1 is 30 seconds", beta, "", "30s"},
		{"v1beta1 with a timeout", "the configuration sets a time", beta, "timeoutSeconds: 7", "7s"},
		{"no configuration", "a webhook that only its URL names has the default of v1", "", "", "10s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			timeouts := map[string]bool{}
			suite := served(t, before(func(_ http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				timeouts[r.URL.Query().Get("timeout")] = true
				return true
			})(), func(h *webhooksuite.Hook) {
				endpoint := h.Endpoint
				if tc.version == "" {
					*h = webhooksuite.Unconfigured(endpoint)
					return
				}
				text := strings.NewReplacer("timeoutSeconds: 5", tc.timeout, "admissionregistration.k8s.io/v1", tc.version).Replace(rightConfiguration)
				*h = configured(t, text)
				h.Endpoint = endpoint
			})
			for _, c := range webhooksuite.Cases() {
				if c.ID != "response.answered" {
					continue
				}
				if _, err := c.Run(context.Background(), suite); err != nil {
					t.Fatal(err)
				}
			}
			if len(timeouts) != 1 || !timeouts[tc.want] {
				t.Errorf("want the timeout %s, got %v (%s)", tc.want, timeouts, tc.reason)
			}
		})
	}
}
