package main

import (
	"crypto/x509"
	"encoding/base64"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// With wrong input, the program prints one line that describes the error, and ends.
func TestBadInput(t *testing.T) {
	t.Parallel()

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	takenPort := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)

	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held := filepath.Join(t.TempDir(), "data")
	holder, _ := serve(t, "--data-dir="+held)

	plain := file(t, "plain", "not a folder\n")
	below := filepath.Join(plain, "below")
	missing := filepath.Join(t.TempDir(), "missing")
	brackets := file(t, "brackets.yaml", "this: [is\n")
	wrongType := file(t, "wrong-type.yaml", "apiVersion: v1\nkind: Config\nclusters: 5\n")
	kustomized := t.TempDir()
	if err := os.WriteFile(filepath.Join(kustomized, "kustomization.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	level := file(t, "level.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Loud}]\n")
	metadata := file(t, "metadata.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
	nowhere := file(t, "nowhere.yaml", "apiVersion: v1\nkind: Config\ncurrent-context: nowhere\n")
	abac := file(t, "policy.jsonl", `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":`)
	rate := file(t, "tracing.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: -4\n")
	podSecurity := file(t, "admission.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: loud}}
`)
	nobody := file(t, "authentication.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: false}\n")
	noProvider := file(t, "encryption.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets]}]\n")
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
	unknownKind := file(t, "unknown-kind.yaml", configMap+"apiVersion: v1\nkind: Nope\nmetadata: {name: b}\n")
	invalid := file(t, "invalid.yaml", configMap+"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n")
	certificate, key := keyPairFiles(t, x509.Certificate{})
	otherCertificate, _ := keyPairFiles(t, x509.Certificate{})
	mixed := t.TempDir()
	for from, to := range map[string]string{otherCertificate: "apiserver.crt", key: "apiserver.key"} {
		if err := os.Link(from, filepath.Join(mixed, to)); err != nil {
			t.Fatal(err)
		}
	}

	for _, test := range []struct {
		name   string
		args   []string
		code   int
		want   []string // parts of the printed line
		reason string
	}{
		{"command", []string{"sevre"}, cli.ExitUsage, []string{`"sevre"`, "serve"}, "it looks like serve"},
		{"argument", []string{"serve", "manifests"}, cli.ExitUsage, []string{`"manifests"`}, "there are flags alone"},
		{"nodes without workloads", []string{"serve", "--nodes=3"}, cli.ExitUsage, []string{"--nodes", "needs --workloads"}, "there are no nodes"},
		{"pods that run without workloads", []string{"serve", "--run-pods"}, cli.ExitUsage, []string{"--run-pods", "needs --workloads"}, "there are no pods"},
		{"stages without workloads", []string{"serve", "--daemon=d", "--stages=ready"}, cli.ExitUsage, []string{"--stages", "needs --workloads"}, "there are no pods"},
		{"workloads behind a cluster", []string{"serve", "--workloads", "--behind=" + nowhere}, cli.ExitUsage, []string{"--workloads", "--behind"}, "the cluster has its own"},
		{"nodes", []string{"serve", "--workloads", "--nodes=5000"}, cli.ExitUsage, []string{"--nodes 5000", "from 0 to 3072"}, "pods would lack addresses"},
		{"stages", []string{"serve", "--workloads", "--stages=slow"}, cli.ExitUsage, []string{"--stages", `"slow"`, "slow-start"}, "it is no file"},
		{"value of a boolean flag", []string{"kube-apiserver", "--allow-privileged", "false"}, cli.ExitUsage,
			[]string{`"false"`, "--allow-privileged=false"}, "the flag takes its value only after ="},
		{"help for a command", []string{"help", "nosuch"}, cli.ExitUsage,
			[]string{`unknown command "nosuch"`, "miniapi --help"}, "there is no such command"},
		{"help for a subcommand", []string{"help", "trace", "wy"}, cli.ExitUsage,
			[]string{`unknown command "wy"`, "why"}, "it looks like why"},
		{"help of a command", []string{"nosuch", "--help"}, cli.ExitUsage,
			[]string{`unknown command "nosuch"`, "miniapi --help"}, "there is no such command"},
		{"help of a subcommand", []string{"trace", "wy", "--help"}, cli.ExitUsage,
			[]string{`unknown command "wy"`, "why"}, "it looks like why"},
		{"number", []string{"serve", "--secure-port=abc"}, cli.ExitUsage,
			[]string{`--secure-port "abc": must be a whole number`}, "it is no number"},
		{"large number", []string{"serve", "--secure-port=99999999999999999999"}, cli.ExitUsage,
			[]string{"--secure-port", "is out of range, must be a whole number"}, "no computer has such a port"},
		{"duration", []string{"serve", "--request-timeout=5"}, cli.ExitUsage,
			[]string{`--request-timeout "5": must be a duration, such as 30s`}, "the unit is missing"},
		{"yes or no", []string{"serve", "--log-requests=maybe"}, cli.ExitUsage,
			[]string{`--log-requests "maybe": must be true or false`}, "it is neither"},
		{"seed", []string{"serve", "--fault-seed=-1"}, cli.ExitUsage,
			[]string{`--fault-seed "-1": must be a whole number from 0`}, "seeds have no sign"},
		{"no value", []string{"cert", "a/b", "--dir"}, cli.ExitUsage,
			[]string{"--dir: must have a value, as in --dir DIR"}, "the value is forgotten"},
		{"context", []string{"trace", "--kubeconfig=" + holder.kubeconfig(t), "--context=other"}, cli.ExitUsage,
			[]string{"--context other", `"miniapi"`}, "the kubeconfig has no such context"},
		{"flag", []string{"serve", "--no-such-flag"}, cli.ExitUsage, []string{"--no-such-flag", "miniapi serve --help"},
			"neither program has it"},
		{"flag of the stand-in", []string{"kube-apiserver", "--no-such-flag"}, cli.ExitUsage,
			[]string{"--no-such-flag"}, "kube-apiserver doesn't have it either"},
		{"no folder of assets", []string{"assets"}, cli.ExitUsage, []string{"[]", "miniapi assets bin/assets"}, "it has to be somewhere"},
		{"empty folder of assets", []string{"assets", ""}, cli.ExitUsage, []string{`[""]`, "miniapi assets bin/assets"},
			"with an unset variable, the links would be in the current folder"},
		{"folders of assets", []string{"assets", "a", "b"}, cli.ExitUsage,
			[]string{`["a" "b"]`, "miniapi assets bin/assets"}, "there would be links in one of them"},
		{"no kubeconfig", []string{"serve", "--write-kubeconfig="}, cli.ExitUsage,
			[]string{"--write-kubeconfig must name a file"}, "without a kubeconfig, no client could use the server"},
		{"no folder of the kubeconfig", []string{"serve", "--write-kubeconfig=" + filepath.Join(missing, "kubeconfig")},
			cli.ExitUsage,
			[]string{"--write-kubeconfig " + filepath.Join(missing, "kubeconfig"), missing + " doesn't exist"},
			"it would be missing when everything has started"},
		{"file for the folder of the kubeconfig", []string{"serve", "--write-kubeconfig=" + below}, cli.ExitUsage,
			[]string{"--write-kubeconfig " + below, plain + " is not a folder"}, "nothing is below a file"},
		{"folder for a kubeconfig", []string{"serve", "--write-kubeconfig=" + foreign}, cli.ExitUsage,
			[]string{"--write-kubeconfig " + foreign, "name a file"}, "a folder has no content"},
		{"empty kustomization", []string{"serve", "--apply=" + kustomized}, cli.ExitUsage,
			[]string{"--apply: kustomization " + kustomized, "*.yaml"}, "kustomize builds nothing"},
		{"manifests elsewhere", []string{"serve", "--apply=https://example.com/a.yaml"}, cli.ExitUsage,
			[]string{"--apply: https://example.com/a.yaml: ", "must be a file, a folder or a glob"},
			"kubectl would fetch it"},
		{"value of an inert flag", []string{"serve", "--max-connection-bytes-per-sec=x"}, cli.ExitUsage,
			[]string{"--max-connection-bytes-per-sec", `"x"`}, "kube-apiserver would refuse it"},
		{"feature gate", []string{"serve", "--feature-gates=NoSuchGate=true"}, cli.ExitUsage,
			[]string{"--feature-gates", "NoSuchGate"}, "no component has it"},
		{"value of a feature gate", []string{"serve", "--feature-gates=WatchList=maybe"}, cli.ExitUsage,
			[]string{"--feature-gates", "WatchList=maybe"}, "it is on or off"},
		{"emulated version", []string{"serve", "--emulated-version=9.9"}, cli.ExitUsage,
			[]string{"--emulated-version 9.9", "1.3"}, "it is too new"},
		{"old emulated version", []string{"serve", "--emulated-version=1.30"}, cli.ExitUsage,
			[]string{"--emulated-version 1.30", "1.3"}, "it is too old"},
		{"minimal version", []string{"serve", "--min-compatibility-version=1.90"}, cli.ExitUsage,
			[]string{"--min-compatibility-version 1.90", "1.3"}, "it is too new"},
		{"forward compatible", []string{"serve", "--emulation-forward-compatible"}, cli.ExitUsage,
			[]string{"--emulation-forward-compatible", "true", "--emulated-version"}, "there is nothing newer"},
		{"no time for requests", []string{"serve", "--request-timeout=0s"}, cli.ExitUsage,
			[]string{"--request-timeout 0s", "more than 0"}, "the server wouldn't get ready"},
		{"grace period", []string{"serve", "--shutdown-watch-termination-grace-period=-1s"}, cli.ExitUsage,
			[]string{"--shutdown-watch-termination-grace-period", "negative"}, "a duration in the past is a mistake"},

		{"port in use", []string{"serve", "--secure-port=" + takenPort}, cli.ExitFailed,
			[]string{"--secure-port " + takenPort, "in use", "0 for a free port"}, "another program listens there"},
		{"port", []string{"serve", "--secure-port=99999"}, cli.ExitUsage,
			[]string{"--secure-port 99999", "between 0 and 65535: 0 takes a free port"}, "ports end before"},
		{"negative port", []string{"serve", "--secure-port=-1"}, cli.ExitUsage,
			[]string{"--secure-port -1", "between 0 and 65535: 0 takes a free port"}, "ports begin later"},
		{"address", []string{"serve", "--secure-port=0", "--bind-address=192.0.2.1"}, cli.ExitFailed,
			[]string{"--bind-address 192.0.2.1"}, "it is no machine's"},
		{"range", []string{"serve", "--service-cluster-ip-range=10.0.0.0/99"}, cli.ExitUsage,
			[]string{"--service-cluster-ip-range", "10.0.0.0/99", "10.0.0.0/24"}, "IPv4 has 32 bits"},
		{"small range",
			[]string{"kube-apiserver", "--etcd-servers=http://127.0.0.1:1", "--service-cluster-ip-range=10.0.0.0/31"},
			cli.ExitUsage, []string{"--service-cluster-ip-range", `"10.0.0.0/31"`, "at least 8 IP addresses"},
			"not even the service kubernetes fits"},
		{"runtime config", []string{"serve", "--runtime-config=apps/v9=true"}, cli.ExitUsage,
			[]string{"--runtime-config", "apps/v9", "GROUP/VERSION"}, "there is no such version"},

		{"no folder", []string{"serve", "--secure-port=0", "--data-dir="}, cli.ExitUsage,
			[]string{"--data-dir", "must name a folder"},
			"with an unset variable, the server wouldn't find its data again"},
		{"no etcd servers", []string{"serve", "--secure-port=0", "--etcd-servers", ""}, cli.ExitUsage,
			[]string{"--etcd-servers", "must name an etcd server"}, "the data would go elsewhere, and be gone"},
		{"foreign folder", []string{"serve", "--secure-port=0", "--data-dir=" + foreign}, cli.ExitFailed,
			[]string{"--data-dir: data folder", foreign, "notes.txt"}, "its files are another program's"},
		{"file for a folder", []string{"serve", "--secure-port=0", "--data-dir=" + plain}, cli.ExitFailed,
			[]string{"--data-dir: data folder", plain, "must be a folder"}, "etcd needs a folder"},
		{"folder in use", []string{"serve", "--secure-port=0", "--data-dir=" + held}, cli.ExitFailed,
			[]string{"--data-dir: data folder", held, strconv.Itoa(holder.cmd.Process.Pid)},
			"two servers would destroy it"},
		{"etcd refuses", []string{"serve", "--secure-port=0", "--etcd-servers=http://127.0.0.1:1"}, cli.ExitFailed,
			[]string{"--etcd-servers", "http://127.0.0.1:1", "refused"}, "nothing is there"},
		{"no socket of etcd",
			[]string{"kube-apiserver", "--secure-port=0", "--cert-dir=" + t.TempDir(), "--etcd-servers=unix://" + missing},
			cli.ExitFailed, []string{"--etcd-servers", missing}, "nothing is there"},
		{"override of a custom resource",
			[]string{"kube-apiserver", "--etcd-servers=http://127.0.0.1:1", "--etcd-servers-overrides=example.com/widgets#http://127.0.0.1:1"},
			cli.ExitUsage, []string{"--etcd-servers-overrides", "example.com/widgets", "built in"},
			"it wouldn't be applied"},
		{"no etcd", []string{"kube-apiserver"}, cli.ExitUsage, []string{"--etcd-servers"}, "kube-apiserver has none of its own"},

		{"certificate of another key",
			[]string{"serve", "--tls-cert-file=" + otherCertificate, "--tls-private-key-file=" + key}, cli.ExitUsage,
			[]string{"--tls-cert-file", otherCertificate, key, "match"}, "the key proves nothing"},
		{"certificate without key", []string{"serve", "--tls-cert-file=" + certificate}, cli.ExitUsage,
			[]string{"--tls-private-key-file"}, "both are needed"},
		{"no certificate", []string{"serve", "--tls-cert-file=" + brackets, "--tls-private-key-file=" + key},
			cli.ExitUsage, []string{"--tls-cert-file", brackets}, "it is no PEM"},
		{"mixed folder of certificates", []string{"serve", "--secure-port=0", "--cert-dir=" + mixed}, cli.ExitFailed,
			[]string{"--cert-dir " + mixed, "apiserver.crt"}, "the pair in it is none"},
		{"no authorities", []string{"serve", "--secure-port=0", "--client-ca-file=" + brackets}, cli.ExitUsage,
			[]string{"--client-ca-file " + brackets, "PEM encoded certificates"}, "it is no PEM"},

		{"kubeconfig of authorization",
			[]string{"serve", "--secure-port=0", "--authorization-mode=Webhook", "--authorization-webhook-config-file=" + brackets},
			cli.ExitFailed, []string{brackets, "line 1"}, "it is no YAML"},
		{"kubeconfig of authentication",
			[]string{"serve", "--secure-port=0", "--authentication-token-webhook-config-file=" + wrongType},
			cli.ExitFailed, []string{wrongType, "clusters"}, "clusters are a list"},
		{"audit policy", []string{"serve", "--audit-policy-file=" + level, "--audit-log-path=-"}, cli.ExitUsage,
			[]string{"--audit-policy-file " + level, "rules[0].level", "Loud", "RequestResponse"},
			"there is no such level"},
		{"kubeconfig of audit",
			[]string{"serve", "--secure-port=0", "--audit-policy-file=" + metadata, "--audit-webhook-config-file=" + nowhere},
			cli.ExitFailed, []string{"--audit-webhook-config-file " + nowhere, "context", "nowhere"},
			"its context isn't there"},
		{"no tracing configuration", []string{"serve", "--tracing-config-file=" + missing}, cli.ExitUsage,
			[]string{"--tracing-config-file " + missing, "no such file"}, "it isn't there"},
		{"tracing configuration", []string{"serve", "--tracing-config-file=" + brackets}, cli.ExitUsage,
			[]string{"--tracing-config-file " + brackets, "line 1"}, "it is no YAML"},
		{"rate of tracing", []string{"serve", "--secure-port=0", "--tracing-config-file=" + rate}, cli.ExitFailed,
			[]string{"--tracing-config-file " + rate, "samplingRatePerMillion", "-4"}, "it is no rate"},
		{"no encryption configuration",
			[]string{"kube-apiserver", "--etcd-servers=http://127.0.0.1:1", "--encryption-provider-config=" + missing},
			cli.ExitUsage, []string{"--encryption-provider-config " + missing, "no such file"}, "it isn't there"},
		{"encryption configuration", []string{"serve", "--secure-port=0", "--encryption-provider-config=" + brackets},
			cli.ExitUsage, []string{"--encryption-provider-config " + brackets, "line 1"}, "it is no YAML"},
		{"configuration of something else for encryption",
			[]string{"serve", "--secure-port=0", "--encryption-provider-config=" + nobody}, cli.ExitUsage,
			[]string{"--encryption-provider-config " + nobody, "EncryptionConfiguration"},
			"nothing in it is about encryption"},
		{"value of an encryption configuration",
			[]string{"serve", "--secure-port=0", "--encryption-provider-config=" + noProvider}, cli.ExitUsage,
			[]string{"--encryption-provider-config " + noProvider, "resources[0].providers"},
			"nothing can be encrypted"},
		{"issuer without TLS",
			[]string{"serve", "--secure-port=0", "--oidc-issuer-url=http://127.0.0.1", "--oidc-client-id=a"},
			cli.ExitUsage, []string{"--oidc-issuer-url", "http://127.0.0.1", "https"}, "its keys could be anybody's"},
		{"anonymous requests twice",
			[]string{"serve", "--secure-port=0", "--anonymous-auth", "--authentication-config=" + nobody},
			cli.ExitUsage, []string{"--anonymous-auth", nobody}, "flag and file say it"},
		{"no authentication configuration", []string{"serve", "--secure-port=0", "--authentication-config=" + brackets},
			cli.ExitUsage, []string{"--authentication-config", brackets}, "it is no YAML"},
		{"policy of ABAC",
			[]string{"serve", "--secure-port=0", "--authorization-mode=ABAC", "--authorization-policy-file=" + abac},
			cli.ExitFailed, []string{abac, "line 1"}, "the line is cut short"},
		{"authorization mode", []string{"serve", "--authorization-mode=Rbac"}, cli.ExitUsage,
			[]string{"--authorization-mode", `"Rbac"`, "RBAC"}, "letters count"},
		{"admission configuration", []string{"serve", "--admission-control-config-file=" + brackets}, cli.ExitUsage,
			[]string{"--admission-control-config-file", brackets}, "it is no YAML"},
		{"configuration of a plugin",
			[]string{"serve", "--secure-port=0", "--admission-control-config-file=" + podSecurity}, cli.ExitFailed,
			[]string{"PodSecurity", podSecurity, "defaults.enforce", "baseline"}, "there is no such level"},
		{"plugin", []string{"serve", "--enable-admission-plugins=Nope"}, cli.ExitUsage,
			[]string{"--enable-admission-plugins", `"Nope"`, "NamespaceLifecycle"}, "neither program has it"},

		{"empty argument", []string{"kube-apiserver", ""}, cli.ExitUsage, []string{"--etcd-servers"},
			"it is no argument, so what is missing is told"},
		{"manifest", []string{"serve", "--apply=" + brackets}, cli.ExitUsage,
			[]string{"--apply", brackets, "document 1", "line 1"}, "it is no YAML"},
		{"no manifest", []string{"serve", "--apply=" + missing}, cli.ExitUsage, []string{"--apply", missing}, "it isn't there"},
		{"empty path of manifests", []string{"serve", "--apply="}, cli.ExitUsage, []string{"--apply: a path is empty"},
			"with an unset variable, the server would lack the objects"},
		{"manifest of an unknown kind", []string{"serve", "--secure-port=0", "--apply=" + unknownKind}, cli.ExitFailed,
			[]string{"--apply", unknownKind, "document 2", "Nope"}, "nothing serves it"},
		{"manifest of an invalid object", []string{"serve", "--secure-port=0", "--apply=" + invalid}, cli.ExitFailed,
			[]string{"--apply", invalid, "document 2", "metadata.name", "Bad_Name"}, "names are lower case"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", test.args...).exit(t)
			if code != test.code {
				t.Errorf("exit code %d, want %d: %s", code, test.code, test.reason)
			}
			if stdout != "" {
				t.Errorf("on stdout: %q", stdout)
			}
			if !strings.HasPrefix(stderr, "Error: ") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("on stderr: %q, want one line: %s", stderr, test.reason)
			}
			for _, part := range test.want {
				if !strings.Contains(stderr, part) {
					t.Errorf("on stderr: %q, which doesn't say %q: %s", stderr, part, test.reason)
				}
			}
		})
	}
}

// If the file of a flag doesn't exist, the program ends with a usage error that names the flag and the file.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing, policy := filepath.Join(dir, "missing"), filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flag   string
		others []string // further flags that the flag requires
	}{
		{"client-ca-file", nil},
		{"requestheader-client-ca-file", nil},
		{"oidc-ca-file", []string{"--oidc-issuer-url=https://127.0.0.1:1", "--oidc-client-id=a"}},
		{"token-auth-file", nil},
		{"authentication-config", nil},
		{"authentication-token-webhook-config-file", nil},
		{"service-account-signing-key-file", nil},
		{"service-account-key-file", nil},
		{"authorization-config", nil},
		{"authorization-policy-file", []string{"--authorization-mode=ABAC"}},
		{"authorization-webhook-config-file", []string{"--authorization-mode=Webhook"}},
		{"kubelet-certificate-authority", nil},
		{"audit-policy-file", nil},
		{"audit-webhook-config-file", []string{"--audit-policy-file=" + policy}},
		{"encryption-provider-config", nil},
	} {
		t.Run(test.flag, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := start(t, "miniapi", append([]string{"serve", "--secure-port=0", "--" + test.flag + "=" + missing}, test.others...)...).exit(t)
			if code != cli.ExitUsage || !strings.HasPrefix(stderr, "Error: --"+test.flag+" "+missing+":") || !strings.Contains(stderr, "no such file") {
				t.Errorf("want exit code %d, the flag and the file, got %d and %s", cli.ExitUsage, code, stderr)
			}
		})
	}
}

// If the stored data was encrypted with another key, the error names --encryption-provider-config.
func TestOtherEncryptionKey(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	key := func(secret string) string {
		return file(t, "encryption.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources: [{resources: [namespaces], providers: [{secretbox: {keys: [{name: a, secret: %s}]}}]}]
`, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(secret, 32))))
	}
	p, _ := serve(t, "--data-dir="+data, "--encryption-provider-config="+key("a"))
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	other := key("b")
	code, _, stderr := start(t, "miniapi", "serve", "--secure-port=0", "--data-dir="+data, "--encryption-provider-config="+other).exit(t)
	if want := "--encryption-provider-config " + other + ": "; code != cli.ExitFailed || !strings.Contains(stderr, want) {
		t.Errorf("want %d and %q, got %d and %s", cli.ExitFailed, want, code, stderr)
	}
}
