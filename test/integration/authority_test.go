package integration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"math/big"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"
)

// authority is a certificate authority of the tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// pair is a certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newAuthority() (*authority, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// issue makes a serving certificate with DNS names, or a client certificate with a user name.
func (a *authority) issue(t testing.TB, name string, dnsNames ...string) pair {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62)))(t), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour),
		DNSNames: dnsNames, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must(x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key))(t)
	encodedKey := must(x509.MarshalPKCS8PrivateKey(key))(t)
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey}),
	}
}

// serve serves a handler on a free port until the test ends, with a certificate for the DNS names. It accepts client
// certificates of any authority.
func (a *authority) serve(t testing.TB, handler http.Handler, dnsNames ...string) (port int) {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	a.serveOn(t, listener, handler, dnsNames...)
	return listener.Addr().(*net.TCPAddr).Port
}

// serveOn does the same as serve, with a given listener.
func (a *authority) serveOn(t testing.TB, listener net.Listener, handler http.Handler, dnsNames ...string) {
	t.Helper()
	serving := a.issue(t, dnsNames[0], dnsNames...)
	certificate := must(tls.X509KeyPair(serving.cert, serving.key))(t)
	server := &http.Server{
		Handler:   handler,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert},
		ErrorLog:  log.New(t.Output(), "", 0), // the log has errors of handshakes that a test makes fail
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() {
		ok(t, server.Close())
		<-served
	})
}

// reserve reserves a port. No process listens on it until listen is called.
func reserve(t testing.TB) (port int, listen func() net.Listener) {
	t.Helper()
	socket := must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0))(t)
	file := os.NewFile(uintptr(socket), "reserved")
	t.Cleanup(func() { _ = file.Close() })
	ok(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound := must(syscall.Getsockname(socket))(t)
	return bound.(*syscall.SockaddrInet4).Port, func() net.Listener {
		t.Helper()
		ok(t, syscall.Listen(socket, syscall.SOMAXCONN))
		return must(net.FileListener(file))(t)
	}
}

// port returns a pointer to a number, for a service reference.
func port(number int) *int32 { return ptr.To(int32(number)) }
