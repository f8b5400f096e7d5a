package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// BenchmarkFirstCall measures the time from the start of the extension's process to the answer of its first call. The
// call comes after discovery.
func BenchmarkFirstCall(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "runtime-extension")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	ca := writeCertificate(b, dir)
	hooks := catalog.New()
	if err := clusterapi.AddToCatalog(hooks); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		firstCall(b, program, dir, ca, hooks)
	}
}

func firstCall(b *testing.B, program, certs string, ca []byte, hooks *catalog.Catalog) {
	ctx, cancel := context.WithCancel(b.Context())
	process := exec.CommandContext(ctx, program, "--certs="+certs, "--port=0")
	defer func() {
		cancel()
		_ = process.Wait() // the test kills the process, so it ends with an error
	}()
	out, err := process.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer connector.Close()
	handlers := hookregistry.New()
	caller, err := hookclient.New(hookclient.Options{Catalog: hooks, Registry: handlers, Connector: connector})
	if err != nil {
		b.Fatal(err)
	}
	config := runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: "quota"}}
	config.Spec.ClientConfig = runtimev1.ClientConfig{URL: "https://" + strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), CABundle: ca}
	if config.Status.Handlers, err = caller.Discover(ctx, &config); err != nil {
		b.Fatal(err)
	}
	if err := handlers.WarmUp([]runtimev1.ExtensionConfig{config}); err != nil {
		b.Fatal(err)
	}
	request := &clusterapi.BeforeClusterCreateRequest{Cluster: runtime.RawExtension{Raw: []byte(`{}`)}}
	if err := caller.CallAll(ctx, clusterapi.BeforeClusterCreate, &metav1.ObjectMeta{}, request, &clusterapi.BeforeClusterCreateResponse{}); err != nil {
		b.Fatal(err)
	}
}

// writeCertificate writes a certificate for 127.0.0.1 and its key to a folder, and returns the certificate.
func writeCertificate(b *testing.B, dir string) []byte {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		b.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return certificate
}
