package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Links with the names etcd and kube-apiserver run miniapi in place of these programs, with the flags that envtest
// uses.
func TestStandIn(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		etcd   func(t *testing.T) string // returns the address for an etcd
		reason string
	}{
		{"tcp", func(t *testing.T) string { return "http://" + freeAddress(t) }, "so does envtest"},
		{"unix", func(t *testing.T) string { return "unix://" + filepath.Join(t.TempDir(), "etcd.sock") },
			"so does the integration framework of Kubernetes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := test.etcd(t)
			etcd := start(t, "etcd", "--data-dir="+t.TempDir(), "--unsafe-no-fsync", "--listen-peer-urls=http://127.0.0.1:0",
				"--listen-client-urls="+store, "--advertise-client-urls="+store)
			etcd.awaitSocket(t, store)

			certificates := t.TempDir()
			address := freeAddress(t)
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			server := start(t, "kube-apiserver", "--etcd-servers="+store, "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+certificates,
				"--authorization-mode=RBAC", "--allow-privileged=true", "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24",
				"--token-auth-file="+file(t, "tokens.csv", `secret,admin,1,"system:masters"`))
			server.awaitHealthy(t, "https://"+address+"/healthz")

			// Right after the server is healthy, requests must succeed.
			c := client(t, &rest.Config{Host: address, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certificates, "apiserver.crt")}})
			if _, err := c.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceDefault, metav1.GetOptions{}); err != nil {
				t.Errorf("namespace default: %v: %s", err, test.reason)
			}
			checkEndpoints(t, c, address)
			server.signal(t, syscall.SIGTERM)
			if code, stdout, stderr := server.exit(t); code != 0 || stdout != "" {
				t.Errorf("exit code %d, and on stdout %q, on stderr %q", code, stdout, stderr)
			}
		})
	}
}

// A server whose etcd hangs never becomes ready, but a signal stops the server. If a server isn't ready in time,
// envtest sends SIGTERM to the server, and then stops etcd without waiting for the server. So the server must be able
// to stop without etcd.
func TestStandInStopsWithoutEtcd(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, reason string
		await        func(t *testing.T, server *process, address string)
	}{
		{"while the server is built", "the library connects to etcd", func(t *testing.T, server *process, address string) {
			server.awaitSocket(t, "http://"+address)
		}},
		{"before the server is ready", "the server creates the objects that every cluster has", func(t *testing.T, server *process, address string) {
			server.await(t, func() error {
				conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
				if err == nil {
					_ = conn.Close()
				}
				return err
			})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store, address := "http://"+freeAddress(t), freeAddress(t)
			etcd := start(t, "etcd", "--data-dir="+t.TempDir(), "--unsafe-no-fsync", "--listen-peer-urls=http://127.0.0.1:0",
				"--listen-client-urls="+store, "--advertise-client-urls="+store)
			etcd.awaitSocket(t, store)
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			server := start(t, "kube-apiserver", "--etcd-servers="+store, "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+t.TempDir())
			test.await(t, server, address)
			etcd.pause(t)
			server.signal(t, syscall.SIGTERM)
			if code, stdout, stderr := server.exit(t); code != 0 || stdout != "" {
				t.Errorf("while %s: exit code %d, and on stdout %q, on stderr %q", test.reason, code, stdout, stderr)
			}
		})
	}
}

// checkEndpoints checks the endpoints of the Service kubernetes. They have the host's own address, although the server
// doesn't listen on it. If the host has only loopback addresses, there are no endpoints.
func checkEndpoints(t *testing.T, c kubernetes.Interface, listens string) {
	t.Helper()
	var want []string
	bound, port, err := net.SplitHostPort(listens)
	if err != nil {
		t.Fatal(err)
	}
	host, err := utilnet.ResolveBindAddress(net.ParseIP(bound))
	if err == nil && !host.IsLoopback() && host.To4() != nil { // without a network, the host has only loopback addresses
		want = []string{host.String()}
		if conn, err := net.Dial("tcp", net.JoinHostPort(host.String(), port)); err == nil {
			_ = conn.Close()
			t.Errorf("it listens on %s too", host)
		}
	}
	slice, err := c.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	var got []string
	for _, endpoint := range slice.Endpoints {
		got = append(got, endpoint.Addresses...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("endpoints of the service kubernetes (-want +got):\n%s", diff)
	}
}

// awaitSocket waits until a process accepts connections at the address.
func (p *process) awaitSocket(t *testing.T, address string) {
	t.Helper()
	network, socket := "tcp", address[len("http://"):]
	if address[:len("unix")] == "unix" {
		network = "unix"
	}
	p.await(t, func() error {
		conn, err := net.Dial(network, socket)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
}

// awaitHealthy waits until requests without credentials get the status 200.
func (p *process) awaitHealthy(t *testing.T, address string) {
	t.Helper()
	anybody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	p.await(t, func() error {
		response, err := anybody.Get(address)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s", response.Status)
		}
		return nil
	})
}

// await repeats condition until it returns no error. If the process ends or the deadline passes first, the test fails.
func (p *process) await(t *testing.T, condition func() error) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for end := time.After(deadline); ; {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-p.done:
			t.Fatalf("%s ended: %s", p.cmd, p.stderr.String())
		case <-end:
			t.Fatalf("%s isn't ready: %v", p.cmd, err)
		}
	}
}

// freeAddress returns a local address on which nothing listens. Its port is below the range from which the system
// chooses free ports, so that no other process gets the port by chance.
func freeAddress(t *testing.T) string {
	t.Helper()
	const from, to = 20000, 32768
	var last error
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(from+mathrand.IntN(to-from))))
		if err == nil {
			defer func() { _ = l.Close() }()
			return l.Addr().String()
		}
		last = err
	}
	t.Fatal(last)
	return ""
}

// keyPairFiles writes a self-signed certificate and its key to files. The certificate is valid for an hour.
func keyPairFiles(t *testing.T, template x509.Certificate) (certificateFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(1), time.Now().Add(time.Hour)
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "a.crt", "%s", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		file(t, "a.key", "%s", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}
