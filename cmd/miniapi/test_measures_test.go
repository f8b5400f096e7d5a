package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// measured is a policy with a test. Its coverage and its mutations are counted by hand below.
const measured = `# line 1
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: maps
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [configmaps]
  matchConditions:
  - name: data
    expression: has(object.data)
  validations:
  - expression: >-
      object.data.size() < 3 &&
      (!('mode' in object.data) ||
      object.data.mode == 'on')
    messageExpression: "'got ' + object.data.mode"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: maps
spec:
  policyName: maps
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {strict: "yes"}}
`

const measuredTest = `apiVersion: test.miniapi.dev/v1alpha1
kind: AdmissionTest
metadata: {name: maps}
installs: [policy.yaml]
defaults:
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: c}}
  namespaceLabels: {strict: "yes"}
cases:
- name: allowed
  expect: allowed
- name: a mode
  with: {data: {mode: "on"}}
  expect: allowed
- name: too many
  with: {data: {c: d, e: f}}
  expect: denied
`

func measuredFiles(t *testing.T) (folder string) {
	t.Helper()
	folder = filepath.Dir(file(t, "policy.yaml", "%s", measured))
	if err := os.WriteFile(filepath.Join(folder, "test.yaml"), []byte(measuredTest), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// --coverage lists what no case reaches by its line, and the other formats have the same.
func TestTestCoverage(t *testing.T) {
	t.Parallel()
	folder := measuredFiles(t)
	policy, lcov, page := filepath.Join(folder, "policy.yaml"), filepath.Join(folder, "coverage.info"), filepath.Join(folder, "coverage.html")
	code, stdout, stderr := start(t, "miniapi", "test", folder, "--coverage", "--coverage-out", lcov, "--coverage-out", page).exit(t)
	if code != 0 || stderr != "" {
		t.Errorf("want the cases to pass, got code %d and %q", code, stderr)
	}
	// Outcomes: two operations, one resource, two of the match condition, two of the validation, two of each of its three
	// conditions, one of the message, one of the binding, and two of the selector.
	want := "coverage: 76.5 % (13 of 17)\n" +
		"  " + policy + "  ValidatingAdmissionPolicy/maps  78.6 % (11 of 14)\n" +
		"    11  spec.matchConstraints.resourceRules[0].operations[1]: no case has the operation UPDATE\n" +
		"    15  spec.matchConditions[0].expression: never false\n" +
		"    20  object.data.mode == \"on\": never false\n" +
		"  " + policy + "  ValidatingAdmissionPolicyBinding/maps  66.7 % (2 of 3)\n" +
		"    31  spec.matchResources.namespaceSelector: no case is ruled out\n"
	if _, got, _ := strings.Cut(stdout, "coverage:"); !strings.HasPrefix("coverage:"+got, want) {
		t.Errorf("want\n%s, got\n%s", want, stdout)
	}
	content, err := os.ReadFile(lcov)
	if err != nil {
		t.Fatal(err)
	}
	wantLCOV := "TN:\nSF:" + policy + "\n" +
		"BRDA:11,0,0,3\nBRDA:11,0,1,0\n" + // operations
		"BRDA:15,0,0,3\nBRDA:15,0,1,0\n" + // the match condition
		"BRDA:18,0,0,2\nBRDA:18,0,1,1\n" + // the validation, and its first condition
		"BRDA:18,1,0,2\nBRDA:18,1,1,1\n" +
		"BRDA:19,0,0,1\nBRDA:19,0,1,1\n" + // 'mode' in object.data, which too many maps skip
		"BRDA:20,0,0,1\nBRDA:20,0,1,0\n" +
		"BRDA:31,0,0,3\nBRDA:31,0,1,0\n" +
		"BRF:14\nBRH:10\n" +
		"DA:11,3\nDA:12,3\nDA:15,3\nDA:18,3\nDA:19,2\nDA:20,1\nDA:21,1\nDA:28,3\nDA:31,3\n" +
		"LF:9\nLH:9\nend_of_record\n"
	if string(content) != wantLCOV {
		t.Errorf("want\n%s, got\n%s", wantLCOV, content)
	}
	content, err = os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if part := `<tr class="partly"><td class="number">20</td><td class="number">1</td><td>      object.data.mode == &#39;on&#39;)` + "\n" +
		`<span class="note">object.data.mode == &#34;on&#34;: never false</span></td></tr>`; !strings.Contains(string(content), part) {
		t.Errorf("want the page with\n%s, got\n%s", part, content)
	}
}

// --mutate lists the changes that no case notices, and these alone.
func TestTestMutate(t *testing.T) {
	t.Parallel()
	folder := measuredFiles(t)
	code, stdout, stderr := start(t, "miniapi", "test", folder, "--mutate", "-o", "json").exit(t)
	if code != 0 || stderr != "" {
		t.Errorf("want the cases to pass, got code %d and %q", code, stderr)
	}
	var report struct {
		Mutations struct {
			Percent float64
			All     []struct {
				Line                   int
				Before, After, Noticed string
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	type change struct {
		line          int
		before, after string
	}
	var got []change
	noticed := 0
	for _, m := range report.Mutations.All {
		if m.Noticed == "" {
			got = append(got, change{m.Line, m.Before, m.After})
		} else {
			noticed++
		}
	}
	want := []change{
		{11, "operations: UPDATE", "(removed)"},
		{15, "matchConditions[0]", "true"}, // no case lacks the data
		{19, `"mode"`, `"mode-other"`},     // no case has a wrong mode
		{31, "namespaceSelector", "{}"},    // no case is in another namespace
	}
	if !slices.Equal(got, want) {
		t.Errorf("want the changes %v unnoticed, got %v", want, got)
	}
	if len(report.Mutations.All) != noticed+len(want) || noticed < 15 {
		t.Errorf("want the other changes noticed, got %d of %d", noticed, len(report.Mutations.All))
	}
}

// The measures are in each format, and they fail a run that is below the required percentage.
func TestTestMeasures(t *testing.T) {
	t.Parallel()
	folder := measuredFiles(t)
	failing := filepath.Dir(file(t, "test.yaml", failing))
	for _, test := range []struct {
		name, reason string
		args         []string
		code         int
		stdout       string
		stderr       string
	}{
		{"enough coverage", "the cases reach as much", []string{folder, "--min-coverage", "76"}, 0, "coverage: 76.5 % (13 of 17)\n", ""},
		{"little coverage", "the cases reach less", []string{folder, "--min-coverage", "77"}, 1, "3 cases, 0 failed",
			"Error: --min-coverage 77: coverage is 76.5 %: --coverage shows what no case reaches\n"},
		{"few mutations", "a case is missing", []string{folder, "--mutate", "--min-mutations", "99.5"}, 1, "mutations noticed", "Error: --min-mutations 99.5: the cases notice "},
		{"failing cases", "a change can't be noticed by a case that fails without it", []string{failing, "--mutate"}, 1, "2 cases, 1 failed",
			"1 of 2 cases failed, so no mutation was tried: --mutate needs cases that pass"},
		{"github", "the workflow marks the lines", []string{folder, "--coverage", "-o", "github"}, 0,
			"::warning file=" + filepath.Join(folder, "policy.yaml") + ",line=15,title=no case reaches it::spec.matchConditions[0].expression: never false\n", ""},
		{"junit", "the percentages are properties", []string{folder, "--coverage", "-o", "junit"}, 0, `<property name="coverage" value="76.5"></property>`, ""},
		{"too much", "no run can reach it", []string{folder, "--min-coverage", "101"}, 2, "", "--min-coverage 101: must be a percentage from 0 to 100"},
		{"negative", "every run reaches it", []string{folder, "--min-coverage", "-1"}, 2, "", "--min-coverage -1: must be a percentage from 0 to 100"},
		{"no number", "it is no percentage", []string{folder, "--min-coverage", "NaN"}, 2, "", "--min-coverage NaN: must be a percentage from 0 to 100"},
		{"no mutations", "nothing is counted", []string{folder, "--min-mutations", "50"}, 2, "", "--min-mutations 50: give --mutate too"},
		{"watch", "an edit can't wait for all changes", []string{folder, "--mutate", "--watch"}, 2, "", "--mutate and --watch: give one of them"},
		{"unknown format", "the ending says the format", []string{folder, "--coverage-out", "coverage.txt"}, 2, "",
			"--coverage-out coverage.txt: must end with .info or .lcov for LCOV, or .html for a page"},
		{"no folder", "the file can't be written", []string{folder, "--coverage-out", filepath.Join(folder, "none", "c.info")}, 2, "",
			"c.info: must be a file that can be written: open "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", append([]string{"test"}, test.args...)...).exit(t)
			if code != test.code || !strings.Contains(stderr, test.stderr) || test.stderr == "" && stderr != "" || !strings.Contains(stdout, test.stdout) {
				t.Errorf("%s: want code %d, %q and %q, got %d, %q and\n%s", test.reason, test.code, test.stderr, test.stdout, code, stderr, stdout)
			}
			if test.name == "junit" && xml.Unmarshal([]byte(stdout), new(struct{})) != nil {
				t.Errorf("want XML, got\n%s", stdout)
			}
		})
	}
}
