package testfile

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes files into a new folder, and returns the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	head = "apiVersion: test.miniapi.dev/v1alpha1\nkind: AdmissionTest\n"
	pod  = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: nginx}]}\n"
)

// read reads a test file with content, and its cases.
func read(t *testing.T, content string, others map[string]string) ([]*Planned, error) {
	t.Helper()
	files := map[string]string{"test.yaml": content}
	for name, text := range others {
		files[name] = text
	}
	tests, err := Read(filepath.Join(write(t, files), "test.yaml"))
	if err != nil {
		return nil, err
	}
	var all []*Planned
	for _, test := range tests {
		planned, err := test.Plan()
		if err != nil {
			return nil, err
		}
		if _, err := test.Install(context.Background()); err != nil {
			return nil, err
		}
		all = append(all, planned...)
	}
	return all, nil
}

// The errors name the line, the field, the value, and what would be right.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, content, want string }{
		{"unknown field", "a misspelled field would be without effect", head + "cases:\n- name: a\n  object: pod.yaml\n  expct: denied\n",
			"test.yaml:6: cases[0].expct: unknown field (did you mean expect?): must be one of name, "},
		{"wrong kind", "the file is for another program", "apiVersion: test.miniapi.dev/v1alpha1\nkind: AdmissionTests\n",
			`test.yaml:2: kind: "AdmissionTests": must be AdmissionTest`},
		{"wrong version", "a later version may have other fields", "apiVersion: test.miniapi.dev/v1\nkind: AdmissionTest\n",
			`test.yaml:1: apiVersion: "test.miniapi.dev/v1": must be test.miniapi.dev/v1alpha1`},
		{"no kind", "both must be given", "apiVersion: test.miniapi.dev/v1alpha1\n", "test.yaml:1: kind: must be set"},
		{"wrong type", "YAML reads yes as a text, and 5 as a number", head + "cases:\n- name: 5\n",
			"test.yaml:4: cases[0].name: must be a string, in quotes if YAML reads another type, got int 5"},
		{"wrong value", "a verdict is one of two", head + "cases:\n- name: a\n  object: pod.yaml\n  expect: refused\n",
			`test.yaml:6: cases[0].expect: "refused": must be allowed or denied`},
		{"a list for a map", "the value has another shape", head + "defaults: []\n", "test.yaml:3: defaults: must be a map with operation, "},
		{"null", "an empty value is a mistake", head + "installs:\ncases: []\n", "test.yaml:3: installs: must have a value"},
		{"a field twice", "one of the values would be lost", head + "cases: []\ncases: []\n", "test.yaml:4: cases: the field is given twice"},
		{"a name twice", "reports name cases", head + "cases:\n- {name: a, object: pod.yaml, expect: allowed}\n- {name: a, object: pod.yaml, expect: denied}\n",
			`test.yaml:5: cases[1].name: "a" is also the name of the case in line 4`},
		{"no object", "a request needs one", head + "cases:\n- {name: a, expect: allowed}\n", "test.yaml:4: cases[0]: object must be set"},
		{"no verdict", "nothing would be compared", head + "cases:\n- {name: a, object: pod.yaml}\n", "test.yaml:4: cases[0]: expect.verdict must be set"},
		{"object and objects", "one is the row of a table", head + "cases:\n- {name: a, object: pod.yaml, objects: [pod.yaml], expect: allowed}\n",
			"test.yaml:4: cases[0]: object and objects are given"},
		{"missing file", "the path is wrong", head + "cases:\n- {name: a, object: other.yaml, expect: allowed}\n", `test.yaml:4: cases[0].object: "other.yaml": `},
		{"two objects", "a request has one object", head + "cases:\n- {name: a, object: two.yaml, expect: allowed}\n",
			`test.yaml:4: cases[0].object: "two.yaml": the file must have one object, got 2`},
		{"no kind of an object", "the server can't know the resource", head + "objects:\n- metadata: {name: a}\n", "test.yaml:4: objects[0]: apiVersion and kind must be set"},
		{"cyclic installs", "the installation would never end", head + "installs: [other-test.yaml]\n", `other-test.yaml:3: installs[0]: "test.yaml": the file installs itself`},
		{"missing manifest", "the path is wrong", head + "installs:\n- pod.yaml\n- none.yaml\n", `test.yaml:5: installs[1]: "none.yaml": `},
		{"no kind of a case's object", "the server can't know the resource", head + "cases:\n- {name: a, object: {metadata: {name: a}}, expect: allowed}\n",
			"test.yaml:4: cases[0].object: apiVersion and kind must be set"},
		{"an allowed case with a policy", "nobody denies it", head + "cases:\n- {name: a, object: pod.yaml, expect: {verdict: allowed, by: ValidatingAdmissionPolicy/p}}\n",
			"test.yaml:4: cases[0].expect: by and expression are for a case that expects denied"},
		{"denied by an unknown kind", "no policy has the kind", head + "cases:\n- name: a\n  object: pod.yaml\n  expect:\n    verdict: denied\n    by: ValidatingPolicy/p\n",
			`test.yaml:8: cases[0].expect.by: "ValidatingPolicy/p": must begin with ValidatingAdmissionPolicy, `},
		{"two patches", "a request has one body", head + "cases:\n- {name: a, object: pod.yaml, patch: {merge: {a: b}, json: []}, expect: allowed}\n",
			"test.yaml:4: cases[0].patch: must have one of merge, strategic and json, got 2"},
		{"no patch", "a request has one body", head + "cases:\n- {name: a, object: pod.yaml, patch: {}, expect: allowed}\n",
			"test.yaml:4: cases[0].patch: must have one of merge, strategic and json, got 0"},
		{"a patch and an apply", "a request has one body", head + "cases:\n- {name: a, object: pod.yaml, patch: {merge: {a: b}}, apply: true, expect: allowed}\n",
			"test.yaml:4: cases[0].apply: a request is a patch or a server-side apply: leave out apply or patch"},
		{"nothing behind a webhook", "no one would answer", head + "webhooks:\n- services: [default/hook]\n",
			"test.yaml:4: webhooks[0]: one of address, command and reviews must be set, got 0 of them"},
		{"an anchor in itself", "the value has no end", head + "defaults: &a {with: {b: *a}}\n", "contains itself"},
		{"no YAML", "the file can't be parsed", head + "cases: [\n", "test.yaml: yaml: line"},
		{"another document", "the file is no test", "a: b\n", "unknown field"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, test.content, map[string]string{
				"pod.yaml": pod, "two.yaml": pod + "---\n" + strings.Replace(pod, "name: web}", "name: db}", 1),
				"other-test.yaml": head + "installs: [test.yaml]\n",
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: want an error with %q, got %v", test.reason, test.want, err)
			}
			var at *Error
			if !errors.As(err, &at) {
				t.Errorf("%s: want an *Error, got %T", test.reason, err)
			}
		})
	}
}

// A cycle of installs names the files.
func TestCyclicInstalls(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.yaml": head + "installs: [b.yaml]\n", "b.yaml": head + "installs: [c.yaml]\n", "c.yaml": head + "installs: [a.yaml]\n"})
	tests, err := Read(filepath.Join(dir, "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tests[0].Install(context.Background()); err == nil || !strings.Contains(err.Error(), "c.yaml:3: installs[0]: \"a.yaml\": the file installs itself, by ") {
		t.Errorf("want an error that names the cycle, got %v", err)
	}
	if paths := tests[0].Paths(); len(paths) < 4 {
		t.Errorf("want the paths of all three files, got %q", paths)
	}
}

// The fields of cases come from defaults, and the rows of a table are cases of their own.
func TestPlan(t *testing.T) {
	t.Parallel()
	planned, err := read(t, head+`
defaults:
  object: pod.yaml
  user: {name: jane, groups: [dev]}
  expect: {verdict: denied, by: ValidatingAdmissionPolicy/p, warnings: []}
cases:
- name: default
- name: allowed
  expect: allowed
- name: merged
  with: {spec: {hostNetwork: true, containers: null}}
- name: update
  operation: UPDATE
  with: {metadata: {labels: {a: b}}}
- name: old alone
  old: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "1", b: "2"}}
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, creationTimestamp: 2020-01-01T00:00:00Z}}
- name: table
  objects: [pods.yaml]
  users: [kim, system:admin]
  expect: {message: {equals: ""}}
`, map[string]string{"pod.yaml": pod, "pods.yaml": pod + "---\n" + strings.Replace(pod, "name: web}", "name: db}", 1)})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*Planned{}
	for _, p := range planned {
		byName[p.Name] = p
	}
	if p := byName["default"]; p.Request.As.UserName != "jane" || p.Expect.By != "ValidatingAdmissionPolicy/p" || p.Request.Objects[0].GetName() != "web" {
		t.Errorf("want the fields of defaults, got %+v", p)
	}
	if p := byName["allowed"]; p.Expect.By != "" || p.Expect.Warnings == nil || p.Expect.Verdict != Allowed {
		t.Errorf("want the defaults that fit an allowed request, got %+v", p.Expect)
	}
	if spec, _ := byName["merged"].Request.Objects[0].Object["spec"].(map[string]any); spec["hostNetwork"] != true || spec["containers"] != nil {
		t.Errorf("want the merged fields, and no containers, got %v", spec)
	}
	if p := byName["update"]; p.Request.Old.GetLabels() != nil || p.Request.Objects[0].GetLabels()["a"] != "b" {
		t.Errorf("want the object without the changes as the old one, got %v and %v", p.Request.Old, p.Request.Objects[0])
	}
	for _, name := range []string{"table/web/kim", "table/web/system:admin", "table/db/kim", "table/db/system:admin"} {
		if p := byName[name]; p == nil || p.Expect.Message.Equals == nil {
			t.Errorf("want a case %q with the message \"\", got %+v", name, p)
		}
	}
	if len(planned) != 9 {
		t.Errorf("want 9 cases, got %d", len(planned))
	}
}

// The published schema is that of the types, and describes every field.
func TestSchema(t *testing.T) {
	t.Parallel()
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	published, err := os.ReadFile("admissiontest.v1alpha1.schema.json")
	if err != nil || string(published) != string(schema) {
		t.Errorf("admissiontest.v1alpha1.schema.json must be the output of \"miniapi test --schema\" (%v)", err)
	}
	var decoded struct {
		Properties  map[string]map[string]any `json:"properties"`
		Definitions map[string]struct {
			Properties map[string]map[string]any `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(schema, &decoded); err != nil {
		t.Fatal(err)
	}
	undescribed := func(owner string, properties map[string]map[string]any) {
		for name, property := range properties {
			if text, _ := property["description"].(string); text == "" {
				t.Errorf("%s.%s: want a description", owner, name)
			}
		}
	}
	undescribed(Kind, decoded.Properties)
	for name, definition := range decoded.Definitions {
		undescribed(name, definition.Properties)
	}
	if len(decoded.Properties) != 10 || len(decoded.Definitions["Case"].Properties) < 15 {
		t.Errorf("want the fields of all types, got %d, and %d of a case", len(decoded.Properties), len(decoded.Definitions["Case"].Properties))
	}
}
