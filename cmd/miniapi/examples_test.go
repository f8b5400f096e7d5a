package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The example webhooks in other languages run as their comments say: with a certificate of "miniapi cert", and without
// a caBundle in their configuration.
func TestExamplesInOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, program, source, debian string }{
		{"Python", "python3", "webhook-python/webhook.py", "python3"},
		{"Node", "node", "webhook-node/webhook.mjs", "nodejs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(test.program)
			if err != nil {
				t.Fatalf("%s isn't on the PATH, so that examples/%s isn't tested: install it (on Debian, apt-get install %s)", test.program, test.source, test.debian)
			}
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				t.Fatal(err)
			}
			data, certs := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "certs")
			runMiniapi(t, "cert", "owners-system/owners-webhook", "--dir="+certs, "--data-dir="+data)
			webhook := startCommand(t, exec.Command(program, filepath.Join(examples, test.source), "--port=0", "--certs="+certs))
			address := webhook.listening(t)
			if records := answerRecords(t, address, filepath.Join(certs, "ca.crt")); records != 1 {
				t.Errorf("the answer has %d records of TLS: each but the first waits until the client has acknowledged the one before", records)
			}
			_, config := serve(t, "--data-dir="+data, "--apply="+filepath.Join(examples, "webhook/config"), "--webhook-service=owners-system/owners-webhook="+address)
			namespaces := client(t, config).CoreV1().Namespaces()
			owned := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "owned", Labels: map[string]string{"owner": "me"}}}
			if _, err := namespaces.Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
				t.Errorf("a namespace with an owner: %v", err)
			}
			orphan := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "orphan"}}
			if _, err := namespaces.Create(t.Context(), orphan, metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "set the label owner") {
				t.Errorf("want a namespace without an owner to be refused by the webhook, got %v", err)
			}
		})
	}
}

// answerRecords returns the number of TLS records in which a webhook sends its response to a review.
func answerRecords(t *testing.T, address, ca string) int {
	t.Helper()
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem)
	plain, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	read := &readingConn{Conn: plain}
	// With TLS 1.3, the types of records are encrypted and can't be told apart, so the client uses TLS 1.2.
	conn := tls.Client(read, &tls.Config{RootCAs: authorities, ServerName: "localhost", MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://localhost/validate?timeout=10s", strings.NewReader(
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","object":{"metadata":{"labels":{"owner":"me"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), "true") {
		t.Errorf("want an allowed review, got %d %s, %v", response.StatusCode, body, err)
	}
	const applicationData, header = 23, 5
	records := 0
	for rest := read.received; len(rest) >= header; rest = rest[header+int(binary.BigEndian.Uint16(rest[3:])):] {
		if rest[0] == applicationData {
			records++
		}
	}
	return records
}

// readingConn is a connection that keeps a copy of the received bytes.
type readingConn struct {
	net.Conn
	received []byte
}

// Read implements net.Conn.
func (c *readingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received = append(c.received, p[:n]...)
	return n, err
}

// listening returns the address that the process prints when it listens.
func (p *process) listening(t *testing.T) string {
	t.Helper()
	select {
	case line, running := <-p.lines:
		address, ok := strings.CutPrefix(line, "listening on ")
		if !running {
			<-p.done
		}
		if !ok {
			t.Fatalf("%s says %q and %s", p.cmd, line, p.stderr.String())
		}
		return address
	case <-time.After(deadline):
		t.Fatalf("%s doesn't listen", p.cmd)
		return ""
	}
}

// The example of a runtime extension runs as its comment says: the server finds it by the service in its
// ExtensionConfig, with a certificate of "miniapi cert", and without a caBundle. "miniapi hooks" prints what the
// tutorial in docs/runtime-hooks.md shows.
func TestRuntimeExtensionExample(t *testing.T) {
	t.Parallel()
	example, err := filepath.Abs("../../examples/runtime-extension")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "runtime-extension")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, example).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, certs := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "certs")
	runMiniapi(t, "cert", "quota-system/quota-extension", "--dir="+certs, "--data-dir="+data)
	address := startCommand(t, exec.Command(program, "--port=0", "--certs="+certs)).listening(t)
	p, _ := serve(t, "--runtime-hooks", "--data-dir="+data, "--apply="+filepath.Join(example, "config"),
		"--webhook-service=quota-system/quota-extension="+address)
	kubeconfig := "--kubeconfig=" + p.kubeconfig(t)
	awaitOutput(t, "quota.quota", "hooks", "list", kubeconfig)
	page, err := os.ReadFile("../../docs/runtime-hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := consoleSteps(string(page), "miniapi hooks ")
	if len(steps) < 5 {
		t.Errorf("the tutorial of docs/runtime-hooks.md calls miniapi hooks %d times", len(steps))
	}
	for _, step := range steps {
		args := strings.Fields(strings.ReplaceAll(step.command, "examples/runtime-extension", example))[1:]
		_, stdout, stderr := start(t, "miniapi", append(args, kubeconfig)...).exit(t)
		got := strings.TrimSpace(stdout + "\n" + stderr)
		if diff := cmp.Diff(withoutTimes(step.output), withoutTimes(got)); diff != "" {
			t.Errorf("%s (-docs/runtime-hooks.md +the program): %s", step.command, diff)
		}
	}
}

// consoleStep is a command in a page of the documentation, and the output that the page shows for it.
type consoleStep struct{ command, output string }

// consoleSteps returns the steps of a page whose commands begin with prefix.
func consoleSteps(page, prefix string) []consoleStep {
	var steps []consoleStep
	for _, block := range strings.Split(page, "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		within := false
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			command, is := strings.CutPrefix(line, "$ ")
			switch {
			case is:
				if within = strings.HasPrefix(command, prefix); within {
					steps = append(steps, consoleStep{command: command})
				}
			case within:
				last := &steps[len(steps)-1]
				last.output = strings.TrimSpace(last.output + "\n" + line)
			}
		}
	}
	return steps
}
