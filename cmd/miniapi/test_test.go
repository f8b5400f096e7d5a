package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// failing is a test file with a case that passes and one that fails, without a policy.
const failing = `apiVersion: test.miniapi.dev/v1alpha1
kind: AdmissionTest
metadata: {name: maps}
defaults:
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: c}}
cases:
- name: passes
  expect: allowed
- name: fails
  expect: {verdict: denied, object: expected.yaml}
`

// Each format has the failed case with its place, and the exit code says whether cases failed or couldn't be run.
func TestTest(t *testing.T) {
	t.Parallel()
	tests := filepath.Dir(file(t, "test.yaml", failing))
	broken := file(t, "broken.yaml", "%s", strings.Replace(failing, "expect:", "expct:", 1))
	for _, test := range []struct {
		name, reason string
		args         []string
		code         int
		stdout       []string
		stderr       string
	}{
		{"text", "the report names the place", []string{tests}, 1,
			[]string{"FAIL  maps", "fails  " + filepath.Join(tests, "test.yaml") + ":9", "- denied", "+ allowed", "2 cases, 1 failed"}, "Error: 1 of 2 cases failed\n"},
		{"verbose", "each case has its timeline", []string{tests, "-v"}, 1, []string{"ok    passes", "CREATE of configmaps default/a"}, "Error: 1 of 2 cases failed\n"},
		{"one passes", "the other case isn't run", []string{tests, "--run", "maps/pass"}, 0, []string{"1 case, 0 failed"}, ""},
		{"none", "a misspelled expression would hide all cases", []string{tests, "--run", "other"}, 2, nil, `--run "other": must match a case`},
		{"github", "the workflow marks the line", []string{tests, "-o", "github"}, 1,
			[]string{"::error file=" + filepath.Join(tests, "test.yaml") + ",line=9,title=fails::verdict:%0A  - denied%0A  + allowed"}, "Error: 1 of 2 cases failed\n"},
		{"broken file", "the file can't be read", []string{broken}, 2, nil, ":8: cases[0].expct: unknown field (did you mean expect?)"},
		{"no path", "there is nothing to run", nil, 2, nil, "give the paths of test files"},
		{"no test", "the folder has no test file", []string{t.TempDir()}, 2, nil, "the folder must have a test file"},
		{"wrong expression", "the expression can't be parsed", []string{tests, "--run", "("}, 2, nil, "--run: must be a regular expression"},
		{"no server", "nothing could run", []string{tests, "--parallel", "0"}, 2, nil, "--parallel 0: must be at least 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", append([]string{"test"}, test.args...)...).exit(t)
			if code != test.code || !strings.Contains(stderr, test.stderr) || test.stderr == "" && stderr != "" {
				t.Errorf("%s: want code %d and %q, got %d and %q", test.reason, test.code, test.stderr, code, stderr)
			}
			for _, part := range test.stdout {
				if !strings.Contains(stdout, part) {
					t.Errorf("%s: want %q in\n%s", test.reason, part, stdout)
				}
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		_, stdout, _ := start(t, "miniapi", "test", tests, "-o", "json").exit(t)
		var report struct {
			Cases, Failed int
			Results       []struct {
				Name     string
				Line     int
				Passed   bool
				Findings []struct{ Field, Want, Got string }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || report.Failed != 1 || len(report.Results) != 2 || !report.Results[0].Passed || report.Results[1].Findings[0].Want != "denied" {
			t.Errorf("want the findings of one case, got %v, %+v", err, report)
		}
	})
	t.Run("junit", func(t *testing.T) {
		t.Parallel()
		_, stdout, _ := start(t, "miniapi", "test", tests, "-o", "junit").exit(t)
		var report struct {
			Failures int `xml:"failures,attr"`
			Suites   []struct {
				Cases []struct {
					Name    string `xml:"name,attr"`
					Failure *struct {
						Message string `xml:"message,attr"`
					} `xml:"failure"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(stdout), &report); err != nil || report.Failures != 1 || report.Suites[0].Cases[1].Failure.Message != "verdict: want denied, got allowed" {
			t.Errorf("want the failure of one case, got %v, %+v", err, report)
		}
	})
}

// --update writes the object of expect.object, with which the case passes afterwards.
func TestTestUpdate(t *testing.T) {
	t.Parallel()
	path := file(t, "test.yaml", "%s", strings.Replace(failing, "verdict: denied", "verdict: allowed", 1))
	code, stdout, _ := start(t, "miniapi", "test", path).exit(t)
	if code != 1 || !strings.Contains(stdout, `+ data: {"b":"c"}`) {
		t.Errorf("want the object as missing, got code %d and\n%s", code, stdout)
	}
	expected := filepath.Join(filepath.Dir(path), "expected.yaml")
	code, _, stderr := start(t, "miniapi", "test", path, "--update").exit(t)
	if code != 0 || stderr != "updated "+expected+"\n" {
		t.Errorf("want the file updated, got code %d and %q", code, stderr)
	}
	content, err := os.ReadFile(expected)
	if want := "apiVersion: v1\ndata:\n  b: c\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\n"; err != nil || string(content) != want {
		t.Errorf("want %q, got %q, %v", want, content, err)
	}
	if code, stdout, _ := start(t, "miniapi", "test", path).exit(t); code != 0 {
		t.Errorf("want the case to pass with the file, got\n%s", stdout)
	}
}

// --watch runs the cases of a file again after a change of a file that the file names.
func TestTestWatch(t *testing.T) {
	t.Parallel()
	path := file(t, "test.yaml", "%s", strings.Replace(failing, "verdict: denied", "verdict: allowed", 1))
	other := filepath.Join(filepath.Dir(path), "other.yaml")
	p := start(t, "miniapi", "test", path, "--watch")
	await := func(want string) {
		t.Helper()
		for line := range p.lines {
			if strings.Contains(line, " cases, ") && !strings.Contains(line, "  maps  ") {
				if !strings.Contains(line, want) {
					t.Errorf("want a run with %q, got %q", want, line)
				}
				return
			}
		}
		t.Fatalf("the program has ended before it reported %q: %s", want, p.stderr.String())
	}
	await("2 cases, 1 failed")
	if err := os.WriteFile(other, []byte("a: b\n"), 0o600); err != nil { // no test depends on it
		t.Fatal(err)
	}
	expected := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {b: c}\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "expected.yaml"), []byte(expected), 0o600); err != nil {
		t.Fatal(err)
	}
	await("2 cases, 0 failed")
}

// The tutorial of docs/test.md runs as it is printed, and prints what is below its commands.
func TestTestDocument(t *testing.T) {
	t.Parallel()
	durations := regexp.MustCompile(`\b[0-9.]+m?s\b`)
	for _, step := range walk(t, "docs/test.md", "In five minutes") {
		printed, err := terminal(t, t.Context(), "exec 2>&1\n"+step.commands).CombinedOutput()
		if err != nil {
			t.Errorf("the commands\n%s%v", step.commands, err)
		}
		step.prints = durations.ReplaceAllString(step.prints, "TIME")
		check(t, step, durations.ReplaceAllString(string(printed), "TIME"))
	}
}
