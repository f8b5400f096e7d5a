package extension_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
)

// certificate writes a self-signed certificate and its key to two files.
func certificate(t *testing.T, dir, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "tls.crt"), certPEM, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), keyPEM, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestServe(t *testing.T) {
	t.Parallel()
	dir, clientDir := t.TempDir(), t.TempDir()
	certificate(t, dir, "first")
	caller := certificate(t, clientDir, "caller")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	hello := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, req.Proto) })
	go func() {
		served <- extension.Serve(ctx, listener, hello, extension.TLS{
			CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
			ClientCAFile: filepath.Join(clientDir, "tls.crt"),
		})
	}()
	get := func(certificates ...tls.Certificate) (body, issuer string, err error) {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{Certificates: certificates, InsecureSkipVerify: true}}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get("https://" + listener.Addr().String())
		if err != nil {
			return "", "", err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		return string(data), resp.TLS.PeerCertificates[0].Subject.CommonName, err
	}
	if body, issuer, err := get(caller); err != nil || body != "HTTP/2.0" || issuer != "first" {
		t.Errorf("a caller is answered %q by %q, %v", body, issuer, err)
	}
	if _, _, err := get(); err == nil {
		t.Error("a caller without a certificate is answered")
	}
	certificate(t, dir, "second")
	if _, issuer, err := get(caller); err != nil || issuer != "second" {
		t.Errorf("after a change of the files, the certificate is that of %q, %v", issuer, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeRefusesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate(t, dir, "x")
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for _, test := range []struct {
		name, reason string
		files        extension.TLS
		want         string
	}{
		{"none", "there is no HTTPS without a certificate", extension.TLS{}, "serving certificate"},
		{"no key", "a certificate needs its key", extension.TLS{CertFile: cert, KeyFile: cert}, "serving certificate"},
		{"missing authorities", "all callers would be refused",
			extension.TLS{CertFile: cert, KeyFile: key, ClientCAFile: filepath.Join(dir, "ca.crt")},
			"authorities of callers"},
		{"no authorities", "all callers would be refused",
			extension.TLS{CertFile: cert, KeyFile: key, ClientCAFile: key}, "must have certificates in PEM"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = listener.Close() })
			if err := extension.Serve(t.Context(), listener, http.NotFoundHandler(), test.files); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v lacks %q (%s)", err, test.want, test.reason)
			}
		})
	}
}
