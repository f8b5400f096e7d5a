package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Each row with a message violates a rule of the API for webhook configurations, and the API refuses the configuration
// with the message. A row without a message is valid. The rules are the same in v1 and v1beta1. The cases
// configuration.validation.* of the conformance suite test most of these rules, in v1 and for mutating webhooks. This
// test compares whole messages, in both versions and for both kinds.
func TestConfigurationValidation(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	client := func(service fields) fields { return fields{"clientConfig": fields{"service": service}} }
	url := func(url string) fields { return fields{"clientConfig": fields{"url": url}} }
	rule := func(changed fields) fields { return fields{"rules": ruleWith(changed)} }
	resources := func(resources ...any) fields { return rule(fields{"resources": resources}) }
	conditions := func(conditions ...any) fields { return fields{"matchConditions": conditions} }
	var tooMany []any
	for i := range 65 {
		tooMany = append(tooMany, fields{"name": fmt.Sprint("condition-", i), "expression": "true"})
	}
	const form = "; desired format: https://host[/path]"

	for _, tc := range []struct {
		name, reason string
		webhook      fields
		want         string
	}{
		{"smallest", "the fields that are left out have defaults", nil, ""},
		{"no name", "a webhook must have a name", fields{"name": nil}, `webhooks[0].name: Required value`},
		{"unqualified name", "names of all organizations differ", fields{"name": "test.example"},
			`webhooks[0].name: Invalid value: "test.example": should be a domain with at least three segments separated by dots`},

		{"all operations", "the wildcard is a valid operation", rule(fields{"operations": []any{"*"}}), ""},
		{"each operation", "these are all operations", rule(fields{"operations": []any{"CREATE", "UPDATE", "DELETE", "CONNECT"}}), ""},
		{"no operation", "a rule without operations would match nothing", rule(fields{"operations": nil}),
			`webhooks[0].rules[0].operations: Required value`},
		{"unknown operation", "no operation has the name READ", rule(fields{"operations": []any{"READ"}}),
			`webhooks[0].rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`},
		{"all operations and one", "a wildcard stands alone", rule(fields{"operations": []any{"*", "CREATE"}}),
			`webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`},
		{"no group", "the core group is an empty string", rule(fields{"apiGroups": nil}),
			`webhooks[0].rules[0].apiGroups: Required value`},
		{"all groups and one", "a wildcard stands alone", rule(fields{"apiGroups": []any{"*", "apps"}}),
			`webhooks[0].rules[0].apiGroups: Invalid value: ["*","apps"]: if '*' is present, must not specify other API groups`},
		{"no version", "a rule without versions would match nothing", rule(fields{"apiVersions": nil}),
			`webhooks[0].rules[0].apiVersions: Required value`},
		{"empty version", "no version has an empty name", rule(fields{"apiVersions": []any{""}}),
			`webhooks[0].rules[0].apiVersions[0]: Required value`},
		{"all versions and one", "a wildcard stands alone", rule(fields{"apiVersions": []any{"*", "v1"}}),
			`webhooks[0].rules[0].apiVersions: Invalid value: ["*","v1"]: if '*' is present, must not specify other API versions`},
		{"no resource", "a rule without resources would match nothing", rule(fields{"resources": nil}),
			`webhooks[0].rules[0].resources: Required value`},
		{"empty resource", "no resource has an empty name", resources(""), `webhooks[0].rules[0].resources[0]: Required value`},
		{"each scope", "these are all scopes",
			fields{"rules": append(append(ruleWith(fields{"scope": "*"}), ruleWith(fields{"scope": "Cluster"})...), ruleWith(fields{"scope": "Namespaced"})...)},
			""},
		{"unknown scope", "a resource is of a namespace or of the cluster", rule(fields{"scope": "World"}),
			`webhooks[0].rules[0].scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"`},

		{"wildcards", "no entry covers another entry", resources("*", "pods/*", "*/scale", "deployments/status"), ""},
		{"all and one", "the wildcard * covers pods", resources("*", "pods"),
			`webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`},
		{"all, and one with subresources", "the wildcard */* covers pods", resources("*/*", "pods"),
			`webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`},
		{"all subresources and one", "the wildcard pods/* covers pods/status", resources("pods/*", "pods/status"),
			`webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`},
		{"a subresource of all and of one", "the wildcard */scale covers deployments/scale", resources("*/scale", "deployments/scale"),
			`webhooks[0].rules[0].resources[1]: Invalid value: "deployments/scale": if '*/scale' is present, must not specify deployments/scale`},

		{"unknown failurePolicy", "there are two failure policies", fields{"failurePolicy": "Maybe"},
			`webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"`},
		{"unknown matchPolicy", "there are two match policies", fields{"matchPolicy": "Near"},
			`webhooks[0].matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact"`},
		{"shortest timeout", "the shortest timeout is 1 s", fields{"timeoutSeconds": int64(1)}, ""},
		{"longest timeout", "the longest timeout is 30 s", fields{"timeoutSeconds": int64(30)}, ""},
		{"no time", "a timeout is at least 1 s", fields{"timeoutSeconds": int64(0)},
			`webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds`},
		{"too much time", "a timeout is at most 30 s", fields{"timeoutSeconds": int64(31)},
			`webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`},
		{"namespaceSelector", "a namespaceSelector is a label selector", fields{"namespaceSelector": fields{"matchExpressions": []any{fields{"key": "a", "operator": "In"}}}},
			`webhooks[0].namespaceSelector.matchExpressions[0].values: Required value: must be specified when ` + "`operator` is 'In' or 'NotIn'"},
		{"objectSelector", "an objectSelector is a label selector", fields{"objectSelector": fields{"matchLabels": fields{"a b": "c"}}},
			`webhooks[0].objectSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},

		{"nowhere", "a webhook must have an address", fields{"clientConfig": fields{}},
			`webhooks[0].clientConfig: Required value: exactly one of url or service is required`},
		{"at two places", "a webhook must have only one address", fields{"clientConfig": fields{"url": "https://example.com", "service": fields{"namespace": "ns", "name": "hook"}}},
			`webhooks[0].clientConfig: Required value: exactly one of url or service is required`},
		{"host alone", "a path is optional", url("https://example.com"), ""},
		{"port and path", "a URL may have a host, a port and a path", url("https://example.com:8443/a/b"), ""},
		{"http", "reviews hold secrets", url("http://example.com"),
			`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme` + form},
		{"no host", "a URL must have a host", url("https:///hook"),
			`webhooks[0].clientConfig.url: Invalid value: "": host must be specified` + form},
		{"user", "credentials belong in the server's configuration", url("https://me:secret@example.com"),
			`webhooks[0].clientConfig.url: Invalid value: "me:secret": user information is not permitted in the URL`},
		{"query", "the server sets the query", url("https://example.com?a=b"),
			`webhooks[0].clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL`},
		{"fragment", "a client never sends a fragment", url("https://example.com#a"),
			`webhooks[0].clientConfig.url: Invalid value: "a": fragments are not permitted in the URL`},

		{"service", "a port is optional, and so is a path", client(fields{"namespace": "ns", "name": "hook"}), ""},
		{"lowest port", "ports begin with 1", client(fields{"namespace": "ns", "name": "hook", "port": int64(1), "path": "/"}), ""},
		{"highest port", "ports end with 65535",
			client(fields{"namespace": "ns", "name": "hook", "port": int64(65535), "path": "/a/b"}), ""},
		{"port 0", "ports begin with 1", client(fields{"namespace": "ns", "name": "hook", "port": int64(0)}),
			`webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive`},
		{"port 65536", "ports end with 65535", client(fields{"namespace": "ns", "name": "hook", "port": int64(65536)}),
			`webhooks[0].clientConfig.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive`},
		{"service without name and namespace", "a service reference must have a namespace and a name", client(fields{"namespace": "", "name": ""}),
			`[webhooks[0].clientConfig.service.name: Required value, webhooks[0].clientConfig.service.namespace: Required value]`},
		{"relative path", "a path begins with a slash", client(fields{"namespace": "ns", "name": "hook", "path": "hook"}),
			`webhooks[0].clientConfig.service.path: Invalid value: "hook": must start with a '/'`},
		{"empty segment", "a path has no empty segments", client(fields{"namespace": "ns", "name": "hook", "path": "/a//b"}),
			`webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty`},

		{"same review version twice", "the order of preference has each version once", fields{"admissionReviewVersions": []any{"v1", "v1"}},
			`webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version`},
		{"no review version that is known", "the webhook could never be called", fields{"admissionReviewVersions": []any{"v2", "v3"}},
			`webhooks[0].admissionReviewVersions: Invalid value: ["v2","v3"]: must include at least one of v1, v1beta1`},

		{"matchConditions", "the expressions compile", conditions(fields{"name": "create", "expression": "request.operation == 'CREATE' && has(object.metadata)"},
			fields{"name": "may", "expression": "authorizer.group('').resource('pods').check('create').allowed()"}), ""},
		{"no name of a condition", "errors contain the name of the condition", conditions(fields{"expression": "true"}),
			`webhooks[0].matchConditions[0].name: Required value`},
		{"same name of two conditions", "errors contain the name of the condition", conditions(fields{"name": "a", "expression": "true"}, fields{"name": "a", "expression": "false"}),
			`webhooks[0].matchConditions[1].name: Duplicate value: "a"`},
		{"no expression", "a condition without an expression has no meaning",
			conditions(fields{"name": "a", "expression": ""}),
			`webhooks[0].matchConditions[0].expression: Required value`},
		{"not a bool", "a condition is either true or false", conditions(fields{"name": "a", "expression": "1"}),
			`webhooks[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`},
		{"too many conditions", "a webhook has at most 64 conditions", conditions(tooMany...),
			`webhooks[0].matchConditions: Too many: 65: must have at most 64 items`},
	} {
		for _, kind := range configurationKinds {
			for _, version := range []string{registrationV1, registrationV1beta1} {
				t.Run(tc.name+" "+version+" "+kind, func(t *testing.T) {
					got := refusal(t, clusterResources(srv, version, resourceOf(kind)), configuration(version, kind, "test", webhookWith(tc.webhook)))
					if got != tc.want {
						t.Errorf("%s:\nwant %s\ngot  %s", tc.reason, tc.want, got)
					}
				})
			}
		}
	}
}

// v1 has rules that v1beta1 doesn't have. The cases version.required and configuration.validation.* of the conformance
// suite test only v1.
func TestConfigurationValidationOfV1(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	for _, tc := range []struct {
		name, reason string
		webhooks     []any
		want         string
	}{
		{"no review versions", "v1 has no default", []any{webhookWith(fields{"admissionReviewVersions": nil})},
			`webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1`},
		{"no side effects", "v1 has no default", []any{webhookWith(fields{"sideEffects": nil})},
			`webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun`},
		{"some side effects", "dry runs must be possible", []any{webhookWith(fields{"sideEffects": "Some"})},
			`webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`},
		{"unknown side effects", "dry runs must be possible", []any{webhookWith(fields{"sideEffects": "Unknown"})},
			`webhooks[0].sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"`},
		{"same name twice", "audit and metrics name webhooks", []any{webhookWith(nil), webhookWith(nil)},
			`webhooks[1].name: Duplicate value: "test.example.com"`},
	} {
		for _, kind := range configurationKinds {
			for version, want := range map[string]string{registrationV1: tc.want, registrationV1beta1: ""} {
				t.Run(tc.name+" "+version+" "+kind, func(t *testing.T) {
					got := refusal(t, clusterResources(srv, version, resourceOf(kind)), configuration(version, kind, "test", tc.webhooks...))
					if got != want {
						t.Errorf("%s:\nwant %s\ngot  %s", tc.reason, want, got)
					}
				})
			}
		}
	}
}

// The error for an unknown value has the supported values. In v1beta1, sideEffects has two more values than in v1. Only
// mutating webhooks have a reinvocationPolicy, with the same values in both versions.
func TestConfigurationValidationOfEnumerations(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	got := refusal(t, clusterResources(srv, registrationV1beta1, "validatingwebhookconfigurations"),
		configuration(registrationV1beta1, "ValidatingWebhookConfiguration", "test", webhookWith(fields{"sideEffects": "Many"})))
	if want := `webhooks[0].sideEffects: Unsupported value: "Many": supported values: "None", "NoneOnDryRun", "Some", "Unknown"`; got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
	for _, version := range []string{registrationV1, registrationV1beta1} {
		got := refusal(t, clusterResources(srv, version, "mutatingwebhookconfigurations"),
			configuration(version, "MutatingWebhookConfiguration", "test", webhookWith(fields{"reinvocationPolicy": "Always"})))
		if want := `webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"`; got != want {
			t.Errorf("%s: want %s\ngot  %s", version, want, got)
		}
	}
}

// The name of a webhook configuration must be a DNS subdomain. The error for a match condition that doesn't compile
// has the compiler's message.
func TestConfigurationNamesAndExpressions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, kind := range configurationKinds {
		client := clusterResources(srv, registrationV1, resourceOf(kind))
		for _, name := range []string{"Upper", "under_score", strings.Repeat("a", 254)} {
			got := refusal(t, client, configuration(registrationV1, kind, name, webhookWith(nil)))
			if !strings.HasPrefix(got, `metadata.name: Invalid value: "`+name) && !strings.HasPrefix(got, "metadata.name: Too long") {
				t.Errorf("name %q: want it to be no DNS subdomain, got %s", name, got)
			}
		}
		if got := refusal(t, client, configuration(registrationV1, kind, "a.b-c.d", webhookWith(nil))); got != "" {
			t.Errorf("want a DNS subdomain to be a name, got %s", got)
		}
		for expression, want := range map[string]string{
			"params.x == 1":    "undeclared reference to 'params'",
			"object.foo ==":    "Syntax error: mismatched input '<EOF>'",
			"request.missing":  "undefined field 'missing'",
			"variables.x == 1": "undeclared reference to 'variables'",
		} {
			got := refusal(t, client, configuration(registrationV1, kind, "test", webhookWith(fields{
				"matchConditions": []any{fields{"name": "a", "expression": expression}},
			})))
			if !strings.HasPrefix(got, "webhooks[0].matchConditions[0].expression: Invalid value: ") || !strings.Contains(got, "compilation failed: ") || !strings.Contains(got, want) {
				t.Errorf("%q: want %q, got %s", expression, want, got)
			}
		}
	}
}
