package admissionregistration

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func validHook() admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name:                    "hook.example.com",
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://example.com/hook")},
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}},
	}
}

func hooksWith(change func(*admissionregistrationv1.MutatingWebhook)) *admissionregistrationv1.MutatingWebhookConfiguration {
	hook := validHook()
	change(&hook)
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks", ResourceVersion: "1"},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{hook},
	}
}

func TestMutatingWebhookConfiguration(t *testing.T) {
	t.Parallel()
	service := func(s admissionregistrationv1.ServiceReference) func(*admissionregistrationv1.MutatingWebhook) {
		return func(h *admissionregistrationv1.MutatingWebhook) {
			h.ClientConfig = admissionregistrationv1.WebhookClientConfig{Service: &s}
		}
	}
	for _, tc := range []struct {
		name, reason string
		change       func(*admissionregistrationv1.MutatingWebhook)
		want         []string
	}{
		{
			name: "valid", reason: "the base of the other cases is valid",
			change: func(*admissionregistrationv1.MutatingWebhook) {},
		},
		{
			name: "name", reason: "a name has at least three segments",
			change: func(h *admissionregistrationv1.MutatingWebhook) { h.Name = "hook.example" },
			want:   []string{`webhooks[0].name: Invalid value: "hook.example": should be a domain with at least three segments separated by dots`},
		},
		{
			name: "nothing said", reason: "v1 requires the fields without a default",
			change: func(h *admissionregistrationv1.MutatingWebhook) {
				*h = admissionregistrationv1.MutatingWebhook{Name: h.Name}
			},
			want: []string{
				"webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
				"webhooks[0].clientConfig: Required value: exactly one of url or service is required",
				"webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
			},
		},
		{
			name: "enumerations", reason: "the error about an unknown value lists the known values",
			change: func(h *admissionregistrationv1.MutatingWebhook) {
				h.FailurePolicy = ptr.To[admissionregistrationv1.FailurePolicyType]("Maybe")
				h.MatchPolicy = ptr.To[admissionregistrationv1.MatchPolicyType]("Near")
				h.SideEffects = ptr.To(admissionregistrationv1.SideEffectClassSome)
				h.TimeoutSeconds = ptr.To[int32](31)
				h.ReinvocationPolicy = ptr.To[admissionregistrationv1.ReinvocationPolicyType]("Always")
				h.Rules[0].Scope = ptr.To[admissionregistrationv1.ScopeType]("World")
				h.Rules[0].Operations = []admissionregistrationv1.OperationType{"READ"}
			},
			want: []string{
				`webhooks[0].rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
				`webhooks[0].rules[0].scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"`,
				`webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"`,
				`webhooks[0].matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact"`,
				`webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`,
				"webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
				`webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"`,
			},
		},
		{
			name: "wildcards", reason: "a wildcard stands alone",
			change: func(h *admissionregistrationv1.MutatingWebhook) {
				h.Rules[0] = admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{"*", admissionregistrationv1.Create},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{"*", "apps"}, APIVersions: []string{"*", ""},
						Resources: []string{"pods/*", "pods/status", "*/scale", "deployments/scale", "*", "nodes"},
					},
				}
			},
			want: []string{
				`webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
				`webhooks[0].rules[0].apiGroups: Invalid value: ["*","apps"]: if '*' is present, must not specify other API groups`,
				`webhooks[0].rules[0].apiVersions: Invalid value: ["*",""]: if '*' is present, must not specify other API versions`,
				"webhooks[0].rules[0].apiVersions[1]: Required value",
				`webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`,
				`webhooks[0].rules[0].resources[3]: Invalid value: "deployments/scale": if '*/scale' is present, must not specify deployments/scale`,
				`webhooks[0].rules[0].resources: Invalid value: ["pods/*","pods/status","*/scale","deployments/scale","*","nodes"]: if '*' is present, must not specify other resources without subresources`,
			},
		},
		{
			name: "everything", reason: "a rule for every resource and subresource makes all other resources redundant",
			change: func(h *admissionregistrationv1.MutatingWebhook) { h.Rules[0].Resources = []string{"*/*", "pods"} },
			want:   []string{`webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`},
		},
		{
			name: "url", reason: "a URL is https, without user, query and fragment",
			change: func(h *admissionregistrationv1.MutatingWebhook) {
				h.ClientConfig.URL = ptr.To("http://me@example.com/hook?a=b#c")
			},
			want: []string{
				`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
				`webhooks[0].clientConfig.url: Invalid value: "me": user information is not permitted in the URL`,
				`webhooks[0].clientConfig.url: Invalid value: "c": fragments are not permitted in the URL`,
				`webhooks[0].clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL`,
			},
		},
		{
			name: "service", reason: "kube-apiserver swaps the name and the namespace in this error, and so does miniapi",
			change: service(admissionregistrationv1.ServiceReference{Namespace: "ns", Path: ptr.To("hook"), Port: ptr.To[int32](65536)}),
			want: []string{
				"webhooks[0].clientConfig.service.namespace: Required value",
				"webhooks[0].clientConfig.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive",
				`webhooks[0].clientConfig.service.path: Invalid value: "hook": must start with a '/'`,
			},
		},
		{
			name:   "review versions",
			reason: "versions are labels without duplicates, and the server can send at least one of these versions",
			change: func(h *admissionregistrationv1.MutatingWebhook) { h.AdmissionReviewVersions = []string{"v2", "v2"} },
			want: []string{
				`webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version`,
				`webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1`,
			},
		},
		{
			name: "selector", reason: "selectors have the form of label selectors",
			change: func(h *admissionregistrationv1.MutatingWebhook) {
				h.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
			},
			want: []string{`webhooks[0].objectSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`},
		},
		{
			name: "conditions", reason: "conditions have unique names and yield a bool",
			change: func(h *admissionregistrationv1.MutatingWebhook) {
				h.MatchConditions = []admissionregistrationv1.MatchCondition{
					{Name: "a", Expression: "1 + 1"}, {Name: "a", Expression: "request.operation == 'CREATE'"}, {},
				}
			},
			want: []string{
				`webhooks[0].matchConditions[0].expression: Invalid value: "1 + 1": must evaluate to bool but got int`,
				`webhooks[0].matchConditions[1].name: Duplicate value: "a"`,
				"webhooks[0].matchConditions[2].expression: Required value",
				"webhooks[0].matchConditions[2].name: Required value",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, ValidateMutatingWebhookConfiguration(hooksWith(tc.change)), tc.want...)
		})
	}
}

func TestWebhookConditionCompilation(t *testing.T) {
	t.Parallel()
	errs := ValidateMutatingWebhookConfiguration(hooksWith(func(h *admissionregistrationv1.MutatingWebhook) {
		h.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "a", Expression: "params.x == 1"}}
	}))
	if len(errs) != 1 || !strings.Contains(errs[0].Detail, "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'") {
		t.Errorf("a webhook has no parameters, so an expression with parameters must not compile: %v", errs)
	}
}

func TestWebhookConfigurationVersions(t *testing.T) {
	t.Parallel()
	old := hooksWith(func(h *admissionregistrationv1.MutatingWebhook) {
		h.SideEffects = ptr.To(admissionregistrationv1.SideEffectClassUnknown)
	})
	old.Webhooks = append(old.Webhooks, old.Webhooks[0])
	v1 := configurationValidation(webhookRulesV1, mutatingWebhooks)
	v1beta1 := configurationValidation(webhookRulesV1beta1, mutatingWebhooks)
	unknown := hooksWith(func(h *admissionregistrationv1.MutatingWebhook) { h.AdmissionReviewVersions = []string{"v0"} })
	sideEffects := `webhooks[0].sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"`

	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{
		{
			name: "create in v1", reason: "v1 requires webhooks without side effects and with unique names",
			errs: ValidateMutatingWebhookConfiguration(old),
			want: []string{
				sideEffects, strings.Replace(sideEffects, "[0]", "[1]", 1), `webhooks[1].name: Duplicate value: "hook.example.com"`,
			},
		},
		{
			name: "create in v1beta1", reason: "v1beta1 allows webhooks with side effects, and duplicate names",
			errs: v1beta1.Create(old),
		},
		{
			name: "update in v1", reason: "an update may keep mistakes of the stored object",
			errs: v1.Update(old, old),
		},
		{
			name: "update spoils", reason: "an update must not add a mistake to a stored object without mistakes",
			errs: v1.Update(old, hooksWith(func(*admissionregistrationv1.MutatingWebhook) {})),
			want: []string{
				sideEffects, strings.Replace(sideEffects, "[0]", "[1]", 1), `webhooks[1].name: Duplicate value: "hook.example.com"`,
			},
		},
		{
			name: "unknown review versions", reason: "v1 and v1beta1 require a review version that the server can send",
			errs: v1beta1.Create(unknown),
			want: []string{`webhooks[0].admissionReviewVersions: Invalid value: ["v0"]: must include at least one of v1, v1beta1`},
		},
		{
			name: "stored unknown review versions", reason: "an older server could send these versions",
			errs: v1.Update(unknown, unknown),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
}

func TestWebhookDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "v1",
			Reason:   "v1 has the strict defaults, and no defaults for side effects and review versions",
			Manifest: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: w, sideEffects: null, clientConfig: {service: {name: hook, namespace: default}}, rules: [{operations: [CREATE]}]}]}`,
			Path:     "webhooks.0",
			Want: `
name: w
admissionReviewVersions: null
clientConfig: {service: {name: hook, namespace: default, port: 443}}
failurePolicy: Fail
matchPolicy: Equivalent
namespaceSelector: {}
objectSelector: {}
reinvocationPolicy: Never
rules: [{operations: [CREATE], scope: "*"}]
sideEffects: null
timeoutSeconds: 10
`,
		},
		{
			Name:     "v1beta1",
			Reason:   "v1beta1 has other defaults than v1",
			Manifest: `{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingWebhookConfiguration, webhooks: [{name: w, clientConfig: {url: "https://example.com"}, rules: [{operations: [CREATE]}]}]}`,
			Path:     "webhooks.0",
			Want: `
name: w
admissionReviewVersions: [v1beta1]
clientConfig: {url: "https://example.com"}
failurePolicy: Ignore
matchPolicy: Exact
namespaceSelector: {}
objectSelector: {}
reinvocationPolicy: Never
rules: [{operations: [CREATE], scope: "*"}]
sideEffects: Unknown
timeoutSeconds: 30
`,
		},
	})
}
