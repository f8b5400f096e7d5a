package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// whoAmI returns the name of the user that a client is authenticated as.
func whoAmI(t *testing.T, config *rest.Config) (string, error) {
	t.Helper()
	review, err := client(t, config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	return review.Status.UserInfo.Username, err
}

// token returns a client configuration with a new token of a service account.
func token(t *testing.T, config *rest.Config) *rest.Config {
	t.Helper()
	accounts := client(t, config).CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return withToken(config, request.Status.Token)
}

func withToken(config *rest.Config, token string) *rest.Config {
	of := rest.AnonymousClientConfig(config)
	of.BearerToken = token
	return of
}

// at returns a client configuration for another server's address, with the same credentials and authorities.
func at(config *rest.Config, host string) *rest.Config {
	other := rest.CopyConfig(config)
	other.Host = host
	return other
}

func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// externalEtcd runs an etcd for the test, and returns its address.
func externalEtcd(t *testing.T) string {
	t.Helper()
	address := "http://" + freeAddress(t)
	etcd := start(t, "etcd", "--data-dir="+t.TempDir(), "--unsafe-no-fsync", "--listen-peer-urls=http://127.0.0.1:0",
		"--listen-client-urls="+address, "--advertise-client-urls="+address)
	etcd.awaitSocket(t, address)
	return address
}

// If a server keeps its keys, it accepts the kubeconfig from before a restart. A server accepts an old token if it keeps
// the service account of the token, too.
func TestRestartKeepsClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		flags        func(t *testing.T, dir string) []string
		keys         string // the folder with the keys
		kept, tokens bool
	}{
		{"data folder", "the data folder has the keys", func(_ *testing.T, dir string) []string {
			return []string{"--data-dir=" + dir}
		}, "pki", true, true},
		{"folder of certificates", "the account of the token is gone with the data", func(_ *testing.T, dir string) []string {
			return []string{"--cert-dir=" + dir}
		}, ".", true, false},
		{"folder of certificates and an etcd", "the account is in etcd", func(t *testing.T, dir string) []string {
			return []string{"--cert-dir=" + dir, "--etcd-servers=" + externalEtcd(t)}
		}, ".", true, true},
		{"folder of certificates and of data", "--cert-dir takes precedence over --data-dir", func(t *testing.T, dir string) []string {
			return []string{"--cert-dir=" + dir, "--data-dir=" + filepath.Join(t.TempDir(), "data")}
		}, ".", true, true},
		{"no folder", "the server keeps nothing", func(*testing.T, string) []string { return nil }, "", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "kept")
			flags := append(test.flags(t, dir), "--secure-port="+freePort(t))
			p, before := serve(t, flags...)
			robot := token(t, before)
			p.signal(t, syscall.SIGTERM)
			p.exit(t)

			serve(t, flags...)
			if user, err := whoAmI(t, before); (err == nil) != test.kept || test.kept && user != "system:admin" {
				t.Errorf("the kubeconfig of the first start: user %q, %v, want it to be kept %t: %s", user, err, test.kept, test.reason)
			}
			if user, err := whoAmI(t, robot); (err == nil) != test.tokens || test.tokens && user != "system:serviceaccount:default:robot" {
				t.Errorf("the token of the first start: user %q, %v, want it to be kept %t: %s", user, err, test.tokens, test.reason)
			}
			if test.keys == "" {
				return
			}
			for _, key := range []string{"ca.key", "apiserver.key", "sa.key"} {
				if info, err := os.Stat(filepath.Join(dir, test.keys, key)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("want %s to be for its owner alone, got %v, %v", key, info, err)
				}
			}
		})
	}
}

// Servers with one etcd and one folder of certificates accept each other's clients.
func TestServersShareKeys(t *testing.T) {
	t.Parallel()
	flags := []string{"--etcd-servers=" + externalEtcd(t), "--cert-dir=" + t.TempDir()}
	_, first := serve(t, append(flags, "--external-hostname=first.example")...)
	_, second := serve(t, append(flags, "--external-hostname=second.example")...)
	for _, config := range []*rest.Config{at(first, second.Host), at(second, first.Host), at(token(t, first), second.Host)} {
		if _, err := whoAmI(t, config); err != nil {
			t.Error(err)
		}
	}
}

// If a server gets a new host name, its authority issues a new serving certificate with the name.
func TestRestartElsewhere(t *testing.T) {
	t.Parallel()
	data := "--data-dir=" + filepath.Join(t.TempDir(), "data")
	p, before := serve(t, data)
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	_, after := serve(t, data, "--external-hostname=elsewhere.example")
	elsewhere := at(before, after.Host)
	elsewhere.ServerName = "elsewhere.example"
	if _, err := whoAmI(t, elsewhere); err != nil {
		t.Error(err)
	}
}

// "miniapi kube-apiserver" stores its serving certificate and the key of this certificate in --cert-dir, and no other
// key.
func TestStandInKeepsNoAuthority(t *testing.T) {
	t.Parallel()
	certificates, address := t.TempDir(), freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, "kube-apiserver", "--etcd-servers="+externalEtcd(t), "--bind-address=127.0.0.1", "--secure-port="+port,
		"--cert-dir="+certificates, "--authorization-mode=RBAC")
	server.awaitHealthy(t, "https://"+address+"/healthz")
	files, err := os.ReadDir(certificates)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if got := strings.Join(names, " "); got != "apiserver.crt apiserver.key" {
		t.Errorf("want the serving certificate and its key, got %s", got)
	}
}

// A damaged key file prevents the start, and the error names the file. The error about a key also names the credentials
// that become invalid if the user removes the key.
func TestDamagedKeys(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p, _ := serve(t, "--data-dir="+data)
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	for _, test := range []struct{ file, want, reason string }{
		{"ca.key", "kubeconfigs and certificates", "the user should know the effect before removing the key"},
		{"sa.key", "tokens", "the user should know the effect before removing the key"},
		{"apiserver.crt", "a new certificate is issued for the key", "the authority can issue the certificate again"},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(dir, os.DirFS(data)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "pki", test.file)
			if err := os.WriteFile(path, []byte("hello\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := start(t, "miniapi", "serve", "--secure-port=0", "--data-dir="+dir).exit(t)
			for _, part := range []string{"Error: --data-dir " + dir, path, "damaged", test.want} {
				if code != cli.ExitFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, part) {
					t.Errorf("want exit code %d and one line with %q, got %d and %q: %s", cli.ExitFailed, part, code, stderr, test.reason)
				}
			}
		})
	}
}
