package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// misfits are policies and bindings with one mistake each.
const misfits = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: types}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {env: prod}, matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments, deploymnts, deployments/scale]}
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [ingresses, namespaces], scope: Namespaced}
    - {apiGroups: [batch], apiVersions: [v1beta1], operations: [CREATE], resources: [cronjobs]}
  matchConditions: [{name: named, expression: object.metadata.nam != 'a'}]
  variables: [{name: unused, expression: object.spec.template.specs}]
  validations: [{expression: object.spec.replica > 1}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: other}
spec: {policyName: typs, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: broken}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.spec.replicas >"}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: skipped}
`

// Each mistake is a line with the object and the field.
func TestCheck(t *testing.T) {
	t.Parallel()
	path := file(t, "policies.yaml", "%s", misfits)
	code, stdout, stderr := start(t, "miniapi", "check", path).exit(t)
	if code != 1 || !strings.HasSuffix(stderr, " findings in 3 objects\n") {
		t.Errorf("want code 1 and the number of findings, got %d and %q", code, stderr)
	}
	for _, want := range []string{
		path + ":7: warning: ValidatingAdmissionPolicy types: spec.matchConstraints.namespaceSelector: can match nothing: no value of the label env fulfils ",
		`spec.matchConstraints.resourceRules[0].resources[1]: "deploymnts" can match nothing: the server has no such resource in the apiGroups ["apps"]`,
		`spec.matchConstraints.resourceRules[0].resources[2]: "deployments/scale" can match nothing: the resource has none of the operations ["CREATE"]`,
		`spec.matchConstraints.resourceRules[1].resources[0]: "ingresses" can match nothing: the server has no such resource in the apiGroups [""]; it has one in ["networking.k8s.io"]`,
		`spec.matchConstraints.resourceRules[1].resources[1]: "namespaces" can match nothing: the resource doesn't have the scope Namespaced`,
		`spec.matchConstraints.resourceRules[2].resources[0]: "cronjobs" can match nothing: the server doesn't serve the resource in the apiVersions ["v1beta1"]`,
		"types: spec.matchConditions[0].expression: /v1, Kind=Namespace: ERROR: <input>:1:16: undefined field 'nam'",
		"types: spec.variables[0].expression: /v1, Kind=Namespace: ERROR: <input>:1:12: undefined field 'template'",
		"types: spec.validations[0].expression: /v1, Kind=Namespace: ERROR: <input>:1:12: undefined field 'replica'\n | object.spec.replica > 1\n | ...........^\napps/v1, Kind=Deployment: ERROR",
		"ValidatingAdmissionPolicy types: has no binding here",
		`ValidatingAdmissionPolicyBinding other: spec.policyName: there is no policy "typs" here`,
		path + ":26: error: ValidatingAdmissionPolicy broken: spec.validations[0].expression: ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("want %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "skipped") || strings.Contains(stdout, `"deployments" can match nothing`) {
		t.Errorf("want nothing about a right rule and another kind, got\n%s", stdout)
	}
}

// harmful are a webhook that can stop its cluster, and a policy with expressions about permissions and with new functions.
const harmful = `
apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: everything}
  webhooks:
  - name: all.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    timeoutSeconds: 20
    clientConfig: {service: {namespace: hooks, name: hook}}
    rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
  - name: leases.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {namespace: hooks, name: hook}}
    namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}
    rules: [{apiGroups: [coordination.k8s.io], apiVersions: [v1], operations: [UPDATE], resources: [leases]}]
    matchConditions: [{name: granted, expression: "authorizer.group('coordination.k8s.io').resource('leases').check('bypass').allowed()"}]
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: permissions}
  spec:
    matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
    variables: [{name: address, expression: isIP(object.metadata.name)}]
    validations:
    - expression: authorizer.group('example.com').resource('gears').check('oil').allowed()
    - expression: authorizer.group('example.com').resource('gears').check('turn').allowed()
    - expression: authorizer.group('').resource('pods').subresource('exec').check('create').allowed() && authorizer.path('/healthz').check('get').allowed()
    - expression: authorizer.group(object.metadata.name).resource('gears').check('oil').allowed() || variables.address
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: permissions}, spec: {policyName: permissions, validationActions: [Deny]}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: turner, namespace: default}, rules: [{apiGroups: [example.com], resources: [gears], verbs: [turn]}]}
`

// served is a webhook with its service.
const served = `
apiVersion: v1
kind: Service
metadata: {name: hook, namespace: hooks}
spec: {ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: deployments}
webhooks:
- name: deployments.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 5
  clientConfig: {service: {namespace: hooks, name: hook}}
  objectSelector: {matchLabels: {app: web}}
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, hooks]}]}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
`

// A webhook that can stop its cluster is an error, with its line in a list. A check of the authorizer must be granted by a
// role of the files, or by one that every cluster has. Of an old version of Kubernetes, what is known is checked.
func TestCheckHarm(t *testing.T) {
	t.Parallel()
	path := file(t, "harmful.yaml", "%s", harmful)
	for _, test := range []struct {
		name, reason string
		args         []string
		want, lacks  []string
	}{
		{"this version", "the server itself knows it", nil, []string{
			path + ":12: advice: ValidatingWebhookConfiguration everything: webhooks[0].timeoutSeconds: timeoutSeconds 20: ",
			path + ":9: error: ValidatingWebhookConfiguration everything: webhooks[0].namespaceSelector: the webhook runs in the namespace hooks, and is called for the deletion of pods there: ",
			path + ":14: error: ValidatingWebhookConfiguration everything: webhooks[0].rules: a failure of the webhook refuses CREATE of tokenreviews: ",
			path + `:21: warning: ValidatingWebhookConfiguration everything: webhooks[1].matchConditions[0].expression: asks for the verb "bypass" for "leases" in the group "coordination.k8s.io"`,
			path + `:29: warning: ValidatingAdmissionPolicy permissions: spec.validations[0].expression: asks for the verb "oil" for "gears" in the group "example.com"`,
			"webhooks[1].timeoutSeconds: no timeoutSeconds, which stands for 10: ",
		}, []string{`"turn"`, "pods/exec", "/healthz", "isIP", "validations[3]", "webhooks[1].rules: a failure"}},
		{"old version", "a function and an API are newer", []string{"--emulated-version", "1.29"}, []string{
			"ValidatingAdmissionPolicy permissions: apiVersion: Kubernetes 1.29 doesn't serve ValidatingAdmissionPolicy in admissionregistration.k8s.io/v1: it does since 1.30 (KEP-3488)",
			path + ":27: error: ValidatingAdmissionPolicy permissions: spec.variables[0].expression: Kubernetes 1.29 can't compile the expression: compilation failed: ERROR: <input>:1:5: undeclared reference to 'isIP'",
		}, []string{"webhooks[1].matchConditions: Kubernetes"}},
		{"older version", "match conditions are newer", []string{"--emulated-version", "1.27"}, []string{
			"ValidatingWebhookConfiguration everything: webhooks[1].matchConditions: Kubernetes 1.27 doesn't have the field by default: it does since 1.28 (KEP-3716)",
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", append([]string{"check", path}, test.args...)...).exit(t)
			if code != 1 || !strings.HasSuffix(stderr, " findings in 3 objects\n") {
				t.Errorf("%s: want code 1 and the number of findings, got %d and %q", test.reason, code, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s: want %q in\n%s", test.reason, want, stdout)
				}
			}
			for _, other := range test.lacks {
				if strings.Contains(stdout, other) {
					t.Errorf("%s: want nothing about %q in\n%s", test.reason, other, stdout)
				}
			}
		})
	}
}

// Right policies have no finding, and the exit code says whether a path can be read.
func TestCheckExits(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../examples/policies")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason string
		args         []string
		code         int
		want         string
	}{
		{"example", "the example is right", []string{filepath.Join(examples, "replica-limit"), "-o", "json"}, 0, ""},
		{"old version", "MutatingAdmissionPolicy has no v1 in 1.34", []string{filepath.Join(examples, "pod-defaults"), "--emulated-version", "1.34"}, 1, "findings in 2 objects"},
		{"service", "the file has the service of the webhook", []string{file(t, "webhook.yaml", "%s", served), "-o", "json"}, 0, ""},
		{"nothing", "a file without policies is probably the wrong one", []string{file(t, "map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}, 2, "must have a policy, a binding"},
		{"no path", "there is nothing to check", nil, 2, "give the paths of manifests"},
		{"missing path", "the path is wrong", []string{"/no/such/path"}, 2, "/no/such/path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", append([]string{"check"}, test.args...)...).exit(t)
			if code != test.code || !strings.Contains(stderr, test.want) || test.want == "" && stderr != "" {
				t.Errorf("%s: want code %d and %q, got %d and %q\n%s", test.reason, test.code, test.want, code, stderr, stdout)
			}
			var findings []any
			if test.code == 0 && (json.Unmarshal([]byte(stdout), &findings) != nil || findings == nil || len(findings) != 0) {
				t.Errorf("%s: want an empty list, got %q", test.reason, stdout)
			}
		})
	}
}
