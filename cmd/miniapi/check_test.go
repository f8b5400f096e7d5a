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
		path + ", document 1: ValidatingAdmissionPolicy types: spec.matchConstraints.namespaceSelector: can match nothing: no value of the label env fulfils ",
		`spec.matchConstraints.resourceRules[0].resources[1]: "deploymnts" can match nothing: the server has no such resource in the apiGroups ["apps"]`,
		`spec.matchConstraints.resourceRules[0].resources[2]: "deployments/scale" can match nothing: the resource has none of the operations ["CREATE"]`,
		`spec.matchConstraints.resourceRules[1].resources[0]: "ingresses" can match nothing: the server has no such resource in the apiGroups [""]; it has one in ["networking.k8s.io"]`,
		`spec.matchConstraints.resourceRules[1].resources[1]: "namespaces" can match nothing: the resource doesn't have the scope Namespaced`,
		`spec.matchConstraints.resourceRules[2].resources[0]: "cronjobs" can match nothing: the server doesn't serve the resource in the apiVersions ["v1beta1"]`,
		"undefined field 'replica'",
		"ValidatingAdmissionPolicy types: has no binding here",
		`ValidatingAdmissionPolicyBinding other: spec.policyName: there is no policy "typs" here`,
		path + ", document 3: ValidatingAdmissionPolicy broken: ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("want %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "skipped") || strings.Contains(stdout, `"deployments" can match nothing`) {
		t.Errorf("want nothing about a right rule and another kind, got\n%s", stdout)
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
