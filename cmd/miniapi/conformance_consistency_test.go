package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

// "miniapi conformance consistency" judges a server, and its exit codes are those of the other suites.
func TestConformanceConsistency(t *testing.T) {
	t.Parallel()
	server, config := serve(t)
	kubeconfig := server.kubeconfig(t)
	report := filepath.Join(t.TempDir(), "report.json")
	stopped := kubeconfigOf(t, "stopped", "https://127.0.0.1:1", nil, "none")
	for _, tc := range []struct {
		name, reason string
		args         []string
		code         int
		stdout       string
		stderr       string
	}{
		{"passed", "no case fails",
			[]string{"--kubeconfig", kubeconfig, "--duration", "1s", "--seed", "42", "--report", "json=" + report}, 0,
			"0 failed", "--seed 42 repeats"},
		{"servers", "two addresses are of the same server",
			[]string{"--kubeconfig", kubeconfig, "--duration", "500ms", "--servers", config.Host + "," + config.Host},
			0, "servers: 2", ""},
		{"others", "lists have objects that no client writes",
			[]string{"--kubeconfig", kubeconfig, "--duration", "500ms", "--others", "4"}, 0, "and 4 others", ""},
		{"list", "a list needs no server", []string{"--list", "--only", "watch.order"}, 0, "watch.order", ""},
		{"no case", "no identifier matches", []string{"--kubeconfig", kubeconfig, "--only", "none.*"}, cli.ExitUsage,
			"", "no case has such an identifier"},
		{"duration", "no client could write", []string{"--kubeconfig", kubeconfig, "--duration", "-1s"}, cli.ExitUsage,
			"", "--duration -1s: must be more than 0"},
		{"no server", "no process listens", []string{"--kubeconfig", stopped}, cli.ExitUsage, "",
			"stopped must have the address and the authority of a server that runs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := start(t, "miniapi", append([]string{"conformance", "consistency"}, tc.args...)...).exit(t)
			if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("%s: want exit code %d, %q and %q, got %d, %q and %q", tc.reason, tc.code, tc.stdout, tc.stderr, code, stdout, stderr)
			}
		})
	}
	var read struct{ Coverage consistency.Coverage }
	content, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(content, &read)
	}
	if err != nil || read.Coverage.Seed != 42 || read.Coverage.Requests == 0 {
		t.Errorf("want the coverage in the report, got %+v, %v", read, err)
	}
	left, err := client(t, config).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: trial.LabelRun})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("want no namespace left, got %v, %v", left.Items, err)
	}
}
