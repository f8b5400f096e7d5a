package answers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// setOf returns the set of the objects of a document with several kinds.
func setOf(t *testing.T, documents ...string) *Set {
	t.Helper()
	set := &Set{}
	for _, document := range documents {
		if err := addYAML(set, document); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

func addYAML(set *Set, document string) error {
	var object struct{ Kind string }
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		return err
	}
	text, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return err
	}
	return set.Add(object.Kind, text)
}

// The entry of a container is chosen as in kwok.
func TestEntries(t *testing.T) {
	t.Parallel()
	set := setOf(t,
		`{kind: ClusterLogs, spec: {selector: {matchNamespaces: [prod]}, logs: [{logsFile: prod}]}}`,
		`{kind: ClusterLogs, spec: {logs: [{containers: [proxy], logsFile: proxy}]}}`,
		`{kind: Logs, metadata: {name: web}, spec: {logs: [{logsFile: any, previousLogsFile: before}, {containers: [main], logsFile: main}]}}`,
		`{kind: Logs, metadata: {name: db, namespace: prod}, spec: {logs: [{containers: [main], logsFile: db}]}}`,
	)
	for _, test := range []struct {
		name, reason, namespace, pod, container string
		previous                                bool
		want                                    string
	}{
		{"container", "the container's entry comes before the one of all containers", "default", "web", "main", false, "main"},
		{"other container", "the entry without a name is for the other containers", "default", "web", "proxy", false, "any"},
		{"previous", "the file of the former container", "default", "web", "proxy", true, "before"},
		{"no previous", "the entry has no file of the former container", "default", "web", "main", true, ""},
		{"pod alone", "with an object of the pod, no selector counts", "prod", "db", "proxy", false, ""},
		{"selector", "the first selector that has an entry", "prod", "x", "proxy", false, "prod"},
		{"all pods", "no selector selects all pods", "default", "x", "proxy", false, "proxy"},
		{"nothing", "no entry is for the container", "default", "x", "main", false, ""},
	} {
		if got, ok := set.LogFile(test.namespace, test.pod, test.container, test.previous); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: want %q, got %q: %s", test.name, test.want, got, test.reason)
		}
	}
}

// Other kinds choose their entries in the same way.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	set := setOf(t,
		`{kind: ClusterPortForward, spec: {forwards: [{target: {address: a, port: 1}}, {ports: [80], target: {address: b, port: 2}}]}}`,
		`{kind: PortForward, metadata: {name: p}, spec: {forwards: [{ports: [80], target: {address: c, port: 3}}]}}`,
		`{kind: ClusterAttach, spec: {attaches: [{logsFile: all}]}}`,
		`{kind: Attach, metadata: {name: p}, spec: {attaches: [{containers: [c], logsFile: one}]}}`,
	)
	if target, ok := set.Target("default", "q", 80); !ok || target.Address != "b" {
		t.Errorf("want the target of the port, got %v", target)
	}
	if target, ok := set.Target("default", "p", 80); !ok || target.Address != "c" {
		t.Errorf("want the target of the pod, got %v", target)
	}
	if target, ok := set.Target("default", "p", 81); ok {
		t.Errorf("want no target, got %v", target)
	}
	if file, ok := set.AttachFile("default", "p", "c"); !ok || file != "one" {
		t.Errorf("want the file of the container, got %q", file)
	}
	all := &Set{}
	all.Append(set)
	if file, ok := all.AttachFile("default", "q", "c"); !ok || file != "all" {
		t.Errorf("want the file of all pods, got %q", file)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, document, want string }{
		{"exec", "commands of users would run", `{kind: Exec, spec: {execs: [{local: {}}]}}`, "isn't supported"},
		{"command", "a command would run", `{kind: PortForward, spec: {forwards: [{command: [socat, x]}]}}`, `entry 0: command "socat x": no command runs on this machine`},
		{"target", "nothing would be reached", `{kind: PortForward, spec: {forwards: [{ports: [80]}]}}`, "entry 0: target: must be"},
		{"file", "nothing would be shown", `{kind: ClusterAttach, spec: {attaches: [{}]}}`, "entry 0: logsFile: must be"},
		{"log", "nothing would be shown", `{kind: Logs, spec: {logs: [{logsFile: a}, {}]}}`, "entry 1: logsFile: must be"},
		{"field", "a misspelt field would have no effect", `{kind: Logs, spec: {log: []}}`, `unknown field "spec.log"`},
	} {
		if err := addYAML(&Set{}, test.document); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want an error with %q, got %v: %s", test.name, test.want, err, test.reason)
		}
	}
}

// A log file has the form of a container runtime, or of Docker, or none.
func TestReadLog(t *testing.T) {
	t.Parallel()
	const text = `2016-10-06T00:17:09.669794202Z stdout F one
2016-10-06T00:17:10Z stderr P two
2016-10-06T00:17:11Z stderr F -three
{"log":"four\n","stream":"stdout","time":"2016-10-06T00:17:12Z"}
five
`
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	lines, err := ReadLog(path, start)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, line := range lines {
		got.WriteString(line.At.Format(time.TimeOnly) + " " + line.Text)
	}
	if want := "00:17:09 one\n00:17:10 two-three\n00:17:12 four\n00:00:00 five\n"; got.String() != want {
		t.Errorf("want %q, got %q", want, got.String())
	}
	if _, err := ReadLog(path+".none", start); err == nil || !strings.Contains(err.Error(), "reading the log of a container") {
		t.Errorf("want an error for a file that doesn't exist, got %v", err)
	}
}
