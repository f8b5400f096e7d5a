package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
	"github.com/miniapi-dev/miniapi/pkg/conformance/report"
)

// The tables of promises in docs/conformance-cases.md and the suites have the same cases.
func TestConformanceDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/conformance-cases.md")
	if err != nil {
		t.Fatal(err)
	}
	ofServers, err := apiserver.Cases(nil)
	if err != nil {
		t.Fatal(err)
	}
	outsideMatrix := conformance.Selection{Skip: []string{apiserver.MatrixPrefix + "*"}}
	for command, cases := range map[string][]conformance.Case{"apiserver --skip 'matrix.*'": outsideMatrix.Of(ofServers), "webhook": conformance.WebhookCases(nil), "consistency": consistency.Cases(nil)} {
		table := &bytes.Buffer{}
		if err := report.Promises(table, cases); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(document, table.Bytes()) {
			t.Errorf("docs/conformance-cases.md is out of date: replace its table of cases by the output of\n"+
				"go run ./cmd/miniapi conformance %s --list --output markdown", command)
		}
	}
	if tables := apiserver.MatrixTables(); !bytes.Contains(document, []byte(tables)) {
		t.Errorf("docs/conformance-cases.md is out of date: replace its tables of the matrix by\n%s", tables)
	}
}

// The table of permissions in the documentation equals the permissions of the suite.
func TestConformancePermissionsDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := apiserver.PermissionTable(apiserver.Permissions()); !bytes.Contains(document, []byte(table)) {
		t.Errorf("docs/conformance.md is out of date: replace its table of permissions by\n%s", table)
	}
}

// The exit code is 0 if no case fails, and 2 if the suite can't run.
func TestConformanceExitCodes(t *testing.T) {
	t.Parallel()
	server, config := serve(t)
	kubeconfig := server.kubeconfig(t)
	junit := filepath.Join(t.TempDir(), "junit.xml")
	stopped := kubeconfigOf(t, "stopped", "https://127.0.0.1:1", nil, "none")
	stranger := kubeconfigOf(t, "stranger", config.Host, config.CAData, "none")
	account, err := client(t, config).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	poor := kubeconfigOf(t, "poor", config.Host, config.CAData, account.Status.Token)
	for _, tc := range []struct {
		name, reason string
		args         []string
		code         int
		stdout       string
		stderr       string
	}{
		{"passed", "no case fails",
			[]string{"--kubeconfig", kubeconfig, "--only", "matrix.review.json,matrix.review.merge,matrix.review.apply", "--report", "junit=" + junit},
			0, "3 passed, 0 failed, 0 skipped", "[3/3]"},
		{"list", "a list needs no server", []string{"--list", "--only", "review.uid"}, 0, "review.uid", ""},
		{"no case", "no identifier matches", []string{"--kubeconfig", kubeconfig, "--only", "none.*"}, cli.ExitUsage,
			"", "no case has such an identifier"},
		{"no case to skip", "a skipped case doesn't exist",
			[]string{"--kubeconfig", kubeconfig, "--only", "review.uid", "--skip", "review.uids"}, cli.ExitUsage, "",
			`--skip "review.uids": no case has such an identifier`},
		{"no case to list", "no identifier matches", []string{"--list", "--only", "review.uid,none.*"}, cli.ExitUsage,
			"", `--only "none.*": no case has such an identifier`},
		{"no case for a role", "no identifier matches", []string{"--rbac", "--only", "none.*"}, cli.ExitUsage, "",
			`--only "none.*": no case has such an identifier`},
		{"role for a resource", "the server decides which resources have cases",
			[]string{"--rbac", "--only", "every.core.v1.pods"}, 0, "resources:\n  - '*'", ""},
		{"list for a script", "a list may be JSON or YAML", []string{"--list", "--only", "review.uid", "-o", "yaml"}, 0,
			"- id: review.uid\n", ""},
		{"format of a list", "a list has no outcomes", []string{"--list", "-o", "junit"}, cli.ExitUsage, "",
			`--list with --output "junit"`},
		{"folder of a report", "the report would be lost after the run",
			[]string{"--kubeconfig", kubeconfig, "--report", "json=missing/report.json"}, cli.ExitUsage, "",
			"--report missing/report.json: folder missing doesn't exist"},
		{"format", "the format is unknown", []string{"--kubeconfig", kubeconfig, "-o", "yaml"}, cli.ExitUsage, "", `--output "yaml"`},
		{"report", "the format of a file is unknown", []string{"--kubeconfig", kubeconfig, "--report", "file.xml"},
			cli.ExitUsage, "", `--report "file.xml"`},
		{"kubeconfig", "there is no such file", []string{"--kubeconfig", "missing"}, cli.ExitUsage, "", "kubeconfig missing"},
		{"no server", "no process listens", []string{"--kubeconfig", stopped}, cli.ExitUsage, "",
			"stopped must have the address and the authority of a server that runs"},
		{"no server to clean", "no process listens", []string{"--kubeconfig", stopped, "--cleanup"}, cli.ExitUsage, "",
			"stopped must have the address and the authority of a server that runs"},
		{"no permission", "nothing can be found or removed", []string{"--kubeconfig", poor, "--cleanup"}, cli.ExitUsage,
			"", "permissions that the cases need"},
		{"no audit log", "the server writes no audit log to this path",
			[]string{"--kubeconfig", kubeconfig, "--audit-log", "missing"}, cli.ExitUsage, "",
			`--audit-log "missing": must be the file of the server's --audit-log-path: stat missing: `},
		{"stranger", "the server doesn't accept the token", []string{"--kubeconfig", stranger}, cli.ExitUsage, "",
			"stranger must have credentials that the server accepts"},
		{"address", "webhooks can't listen at this address",
			[]string{"--kubeconfig", kubeconfig, "--webhook-address", "nowhere"}, cli.ExitUsage, "",
			`webhook address "nowhere"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := start(t, "miniapi", append([]string{"conformance", "apiserver"}, tc.args...)...).exit(t)
			if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("%s: want exit code %d, %q and %q, got %d, %q and %q", tc.reason, tc.code, tc.stdout, tc.stderr, code, stdout, stderr)
			}
		})
	}
	if _, err := os.Stat(junit); err != nil {
		t.Error(err)
	}
}

// kubeconfigOf writes a kubeconfig for a server and the user of a token, and returns the path of the file.
func kubeconfigOf(t *testing.T, name, host string, authority []byte, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: host, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token}},
	}, file); err != nil {
		t.Fatal(err)
	}
	return file
}
