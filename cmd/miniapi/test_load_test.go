package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// captured is an object as a cluster has it.
const captured = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, namespace: default, uid: 5b7e4d1c-0000-4000-8000-000000000001, creationTimestamp: "2024-01-02T03:04:05Z"}
`

// loading is a test file whose policy sees the captured object.
const loading = `apiVersion: test.miniapi.dev/v1alpha1
kind: AdmissionTest
metadata: {name: old}
load: [captured.yaml]
objects:
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: uid}
  spec:
    matchConstraints:
      resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]
    validations:
    - expression: oldObject.metadata.uid != '5b7e4d1c-0000-4000-8000-000000000001' || oldObject.metadata.creationTimestamp != '2024-01-02T03:04:05Z'
      message: the captured object
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: uid}, spec: {policyName: uid, validationActions: [Deny]}}
cases:
- name: captured
  old: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  with: {data: {b: c}}
  expect: {verdict: denied, message: the captured object}
`

// A test file's server has the objects of load as they are, and a file of another folder has those of its own.
func TestTestLoad(t *testing.T) {
	t.Parallel()
	path, other, alone := file(t, "test.yaml", loading), file(t, "test.yaml", loading), file(t, "test.yaml", loading)
	for of, content := range map[string]string{path: captured, other: strings.Replace(captured, "2024", "2023", 1)} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(of), "captured.yaml"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, _ := start(t, "miniapi", "test", path, other, "--parallel", "1").exit(t)
	if code != 1 || !strings.Contains(stdout, "ok    old  1 case,") || !strings.Contains(stdout, "2 cases, 1 failed") {
		t.Errorf("want the case to pass with the first capture alone, got code %d and\n%s", code, stdout)
	}
	code, _, stderr := start(t, "miniapi", "test", alone).exit(t)
	if code != 2 || !strings.Contains(stderr, "captured.yaml: no such file") {
		t.Errorf("want the missing capture named, got code %d and %q", code, stderr)
	}
}
