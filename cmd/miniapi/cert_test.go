package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// runMiniapi runs the program to its end and returns its standard output. If the program fails, the test fails.
func runMiniapi(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := start(t, "miniapi", args...).exit(t)
	if code != 0 {
		t.Fatalf("miniapi %q: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// kubeconfig returns the path of the file that "miniapi serve" has written.
func (p *process) kubeconfig(t *testing.T) string {
	t.Helper()
	for _, arg := range p.cmd.Args {
		if file, ok := strings.CutPrefix(arg, "--write-kubeconfig="); ok {
			return file
		}
	}
	t.Fatalf("%s writes no kubeconfig", p.cmd)
	return ""
}

// The server's authority signs the certificates of "miniapi cert". The server may be running, or may not have
// started yet.
func TestCert(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		flags        func(t *testing.T, kept string) []string // returns the flags of "miniapi cert"; kept is the path of a data folder

	}{
		{"of a running server", "the command requests the certificate from the running server", func(t *testing.T, kept string) []string {
			p, _ := serve(t, "--data-dir="+kept)
			return []string{"--kubeconfig=" + p.kubeconfig(t)}
		}},
		{"of a new data folder", "a user may make certificates before the server's first start", func(_ *testing.T, kept string) []string {
			return []string{"--data-dir=" + kept}
		}},
		{"of a data folder that is in use", "keys are only read", func(t *testing.T, kept string) []string {
			serve(t, "--data-dir="+kept)
			return []string{"--data-dir=" + kept}
		}},
		{"of a folder of certificates", "the folder has the authority's key", func(_ *testing.T, kept string) []string {
			return []string{"--cert-dir=" + filepath.Join(kept, "pki")}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			kept, dir := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "certs")
			flags := test.flags(t, kept)
			for range 2 { // the second run replaces the certificate
				stdout := runMiniapi(t, append([]string{"cert", "shop/prices", "webhook.example.com", "192.0.2.7", "--dir=" + dir}, flags...)...)
				if want := "tls.crt, tls.key and ca.crt for prices.shop.svc, webhook.example.com, 192.0.2.7 are in " + dir; stdout != want {
					t.Errorf("on stdout: %q, want %q", stdout, want)
				}
			}
			pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
			if err != nil {
				t.Fatal(err)
			}
			ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(ca)
			for _, host := range []string{"prices.shop.svc", "prices.shop.svc.cluster.local", "webhook.example.com", "192.0.2.7", "localhost", "127.0.0.1", "::1"} {
				if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
					t.Error(err)
				}
			}
			if info, err := os.Stat(filepath.Join(dir, "tls.key")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("want the key to be for its owner alone, got %v, %v", info, err)
			}
			authority, err := os.ReadFile(filepath.Join(kept, "pki", "ca.crt"))
			if err != nil || !bytes.Equal(authority, ca) {
				t.Errorf("the authority is another one, because %s (%v)", test.reason, err)
			}
		})
	}
}

// "miniapi cert" can make the authority in a data folder. A server that starts there later uses that authority.
func TestCertBeforeServer(t *testing.T) {
	t.Parallel()
	data, dir := filepath.Join(t.TempDir(), "data"), t.TempDir()
	runMiniapi(t, "cert", "shop/prices", "--dir="+dir, "--data-dir="+data)
	_, config := serve(t, "--data-dir="+data)
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	config.CAData = ca
	if _, err := whoAmI(t, config); err != nil {
		t.Error(err)
	}
}

// A user needs a permission to get a serving certificate from the server. A serving certificate doesn't work as a
// client certificate.
func TestCertificatePermissions(t *testing.T) {
	t.Parallel()
	_, config := serve(t)
	request, key, err := pki.NewRequest(pki.Names{DNS: []string{"prices.shop.svc"}})
	if err != nil {
		t.Fatal(err)
	}
	post := func(config *rest.Config) ([]byte, error) {
		answer := client(t, config).Discovery().RESTClient().Post().AbsPath(keys.IssuePath).Body(request).Do(t.Context())
		if err := answer.Error(); err != nil {
			return nil, err
		}
		return answer.Raw()
	}
	alice := rest.CopyConfig(config)
	alice.Impersonate = rest.ImpersonationConfig{UserName: "alice", Groups: []string{"system:authenticated"}}
	if _, err := post(alice); !apierrors.IsForbidden(err) {
		t.Errorf("want a user without the permission to be refused, got %v", err)
	}
	if _, err := post(rest.AnonymousClientConfig(config)); !apierrors.IsUnauthorized(err) {
		t.Errorf("want strangers to be refused, got %v", err)
	}
	chain, err := post(config)
	if err != nil {
		t.Fatal(err)
	}
	webhook := rest.AnonymousClientConfig(config)
	webhook.CertData, webhook.KeyData = chain, key
	if user, err := whoAmI(t, webhook); err == nil {
		t.Errorf("the certificate of a webhook makes its bearer %q", user)
	}
	request = []byte("hello")
	if _, err := post(config); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "CERTIFICATE REQUEST") {
		t.Errorf("want what is no request to be refused with what is one, got %v", err)
	}
	if _, err := client(t, config).Discovery().RESTClient().Get().AbsPath(keys.IssuePath).DoRaw(t.Context()); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("want other methods to be refused, got %v", err)
	}
}

// If "miniapi cert" fails, it prints one line and writes no certificate.
func TestCertRefuses(t *testing.T) {
	t.Parallel()
	theirs := t.TempDir()
	certificate, key := keyPairFiles(t, x509.Certificate{})
	for from, to := range map[string]string{certificate: "tls.crt", key: "tls.key"} {
		if err := os.Link(from, filepath.Join(theirs, to)); err != nil {
			t.Fatal(err)
		}
	}
	piped := t.TempDir()
	makePipe(t, filepath.Join(piped, "tls.crt"))
	p, _ := serve(t, "--data-dir="+filepath.Join(t.TempDir(), "data"))
	kubeconfig := p.kubeconfig(t)
	gone, _ := serve(t)
	gone.signal(t, syscall.SIGTERM)
	gone.exit(t)
	for _, test := range []struct {
		name, reason string
		args         []string
		code         int
		want         string
	}{
		{"no name", "a certificate needs a service", nil, cli.ExitUsage, "miniapi cert default/my-webhook"},
		{"host with its port", "certificates are for hosts, without a port", []string{"127.0.0.1:9443"}, cli.ExitUsage,
			`"127.0.0.1:9443": must be NAMESPACE/SERVICE`},
		{"service with its port", "certificates are for services, without a port", []string{"shop/prices:443"},
			cli.ExitUsage, `"shop/prices:443": must be NAMESPACE/SERVICE`},
		{"no service", "an unset variable leaves the name of the service empty", []string{"shop/"}, cli.ExitUsage,
			`"shop/": must be NAMESPACE/SERVICE`},
		{"both ways", "the server and the folder may have different authorities",
			[]string{"shop/prices", "--kubeconfig=" + kubeconfig, "--data-dir=data"}, cli.ExitUsage,
			"can't be used together with --data-dir"},
		{"no kubeconfig", "without a kubeconfig, the command can't find the server",
			[]string{"shop/prices", "--kubeconfig=" + filepath.Join(theirs, "missing")}, cli.ExitFailed,
			"no such file"},
		{"no server", "the server has stopped", []string{"shop/prices", "--kubeconfig=" + gone.kubeconfig(t)}, cli.ExitFailed, "refused"},
		{"another certificate", "a user may need the existing certificate",
			[]string{"shop/prices", "--kubeconfig=" + kubeconfig, "--dir=" + theirs}, cli.ExitFailed,
			"isn't miniapi's"},
		{"pipe", "a pipe would make the command wait forever",
			[]string{"shop/prices", "--kubeconfig=" + kubeconfig, "--dir=" + piped}, cli.ExitFailed,
			"tls.crt is a device, a pipe or a socket"},
		{"foreign folder", "the folder is no data folder", []string{"shop/prices", "--data-dir=" + theirs},
			cli.ExitFailed, "the folder is not a data folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "certs")
			code, stdout, stderr := start(t, "miniapi", append([]string{"cert", "--dir=" + dir}, test.args...)...).exit(t)
			if code != test.code || stdout != "" || !strings.HasPrefix(stderr, "Error: ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
				t.Errorf("want exit code %d and one line with %q, got %d, %q and %q: %s", test.code, test.want, code, stdout, stderr, test.reason)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is there", dir)
			}
		})
	}
}
