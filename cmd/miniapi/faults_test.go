package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "miniapi faults" lists, adds and removes the faults of a running server. The server injects no fault into the
// requests of --apply.
func TestFaults(t *testing.T) {
	t.Parallel()
	manifest := file(t, "manifest.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied, namespace: default}\n")
	p, config := serve(t, "--apply="+manifest, "--fault=name=first,resources=configmaps,verbs=patch|create,status=500")
	add := file(t, "faults.yaml", "faults: [{name: second, resources: [configmaps], verbs: [get], latency: 1ms}]\n")
	faults := func(args ...string) string {
		return runMiniapi(t, append([]string{"faults", "--kubeconfig=" + p.kubeconfig(t)}, args...)...)
	}
	if diff := cmp.Diff("request-1 added\nsecond added", faults("add", "-f", add, "resources=nodes,status=500")); diff != "" {
		t.Errorf("output of add (-want +got):\n%s", diff)
	}
	if _, err := client(t, config).CoreV1().ConfigMaps("default").Get(t.Context(), "applied", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	faults("delete", "request-1")
	want := []string{
		"NAME SOURCE MATCHED INJECTED FAULT",
		"first flag 0 0 verbs=patch|create,resources=configmaps,status=500",
		"second request 1 1 verbs=get,resources=configmaps,latency=1ms",
	}
	if diff := cmp.Diff(want, words(faults())); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if got := faults("-o", "yaml"); strings.Count(got, "  name: ") != 2 || !strings.Contains(got, "- injected: 1\n") {
		t.Errorf("want the two faults in YAML, got:\n%s", got)
	}
	faults("delete", "--all")
	if diff := cmp.Diff(want[:1], words(faults())); diff != "" {
		t.Errorf("list after --all (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"invalid", []string{"add", "verbs=get,conflict"}, 2,
			`Error: fault "verbs=get,conflict": conflict: can't be set for the verb "get": must be one of update, patch, delete`},
		{"none", []string{"add"}, 2, "Error: name a fault, as in verbs=update,resources=pods,conflict, or a file by -f"},
		{"no file", []string{"add", "-f", filepath.Join(t.TempDir(), "none")}, 2, "no such file or directory"},
		{"unknown resource", []string{"add", "resources=po|pods,verbs=get,status=500"}, 0,
			`Warning: fault request-2: the server has no resource "po", so the fault has no effect until the resource is served`},
		{"kind", []string{"add", "resources=Pod,verbs=get,status=500"}, 2,
			`resources "Pod": must be a plural name in lower case, such as pods`},
		{"no name", []string{"delete"}, 2, "Error: arguments [] and --all=false: give either the names of faults, or --all"},
		{"unknown name", []string{"delete", "third"}, 1, `Error: faults "third" not found`},
		{"misspelled", []string{"delte"}, 2, `Error: unknown command "delte": did you mean delete?`},
	} {
		code, _, stderr := start(t, "miniapi", append([]string{"faults", "--kubeconfig=" + p.kubeconfig(t)}, test.args...)...).exit(t)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: want exit code %d and %q, got %d and %q", test.name, test.code, test.want, code, stderr)
		}
	}
}

// words returns the lines of a table, with one space between two words.
func words(table string) []string {
	var lines []string
	for line := range strings.Lines(table) {
		lines = append(lines, strings.TrimSpace(regexp.MustCompile(` +`).ReplaceAllString(line, " ")))
	}
	return lines
}
