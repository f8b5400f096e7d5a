package hookclient_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// identity is a self-signed certificate with its key.
type identity struct {
	pem, key []byte
	pair     tls.Certificate
}

func selfSigned(t *testing.T, names ...string) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: serial.String()}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	id := identity{
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}
	if id.pair, err = tls.X509KeyPair(id.pem, id.key); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestService connects to services at the addresses that ConnectorOptions.Services returns. The name in the
// certificate must be the DNS name of the service.
func TestService(t *testing.T) {
	t.Parallel()
	id := selfSigned(t, "quota.hooks.svc")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte(req.Host))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{id.pair}}
	server.StartTLS()
	t.Cleanup(server.Close)

	services := resolver{"hooks/quota:443": server.Listener.Addr().String(), "hooks/other:8443": server.Listener.Addr().String()}
	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{Services: services})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connector.Close)
	for _, test := range []struct {
		name, reason string
		service      runtimev1.ServiceReference
		want, err    string
	}{
		{name: "default port", reason: "the port is 443",
			service: runtimev1.ServiceReference{Namespace: "hooks", Name: "quota"}, want: "quota.hooks.svc:443"},
		{name: "other name", reason: "the certificate is for another service",
			service: runtimev1.ServiceReference{Namespace: "hooks", Name: "other", Port: ptr.To[int32](8443)},
			err:     "not other.hooks.svc"},
		{name: "no address", reason: "the resolver has no address for the service",
			service: runtimev1.ServiceReference{Namespace: "hooks", Name: "missing"},
			err:     "no address for hooks/missing:443"},
	} {
		t.Run(test.name, func(t *testing.T) {
			connection, err := connector.Connect(runtimev1.ClientConfig{Service: test.service, CABundle: id.pem})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := connection.HTTP.Get(connection.URL.String())
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v lacks %q (%s)", err, test.err, test.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := resp.Request.Host + resp.Request.URL.Host; !strings.Contains(got, test.want) {
				t.Errorf("the host is %q (%s)", got, test.reason)
			}
		})
	}
}

type resolver map[string]string

func (r resolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	key := namespace + "/" + name + ":" + big.NewInt(int64(port)).String()
	if address, ok := r[key]; ok {
		return &url.URL{Scheme: "https", Host: address}, nil
	}
	return nil, errors.New("no address for " + key)
}

// TestServiceAndURL connects to a service, and to the URL with the DNS name of the service. DNS decides where the
// second one is, so the two must not share a client.
func TestServiceAndURL(t *testing.T) {
	t.Parallel()
	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{Services: resolver{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connector.Close)
	service, err := connector.Connect(runtimev1.ClientConfig{Service: runtimev1.ServiceReference{Namespace: "hooks", Name: "quota"}})
	if err != nil {
		t.Fatal(err)
	}
	byName, err := connector.Connect(runtimev1.ClientConfig{URL: "https://quota.hooks.svc:443"})
	if err != nil {
		t.Fatal(err)
	}
	if service.URL.Host != byName.URL.Host || service.HTTP == byName.HTTP {
		t.Errorf("want two clients for the host %s, and %s", service.URL.Host, byName.URL.Host)
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	service := runtimev1.ServiceReference{Namespace: "n", Name: "s", Path: "/hooks"}
	for _, test := range []struct {
		name, reason string
		config       runtimev1.ClientConfig
		want, err    string
	}{
		{name: "url", reason: "a prefix stays", config: runtimev1.ClientConfig{URL: "https://a.example/prefix"},
			want: "https://a.example/prefix"},
		{name: "service", reason: "the URL has the DNS name that is in the certificates of services",
			config: runtimev1.ClientConfig{Service: service}, want: "https://s.n.svc:443/hooks"},
		{name: "neither", reason: "a configuration needs a url or a service", err: "neither a url nor a service"},
		{name: "both", reason: "the connector would ignore the url or the service",
			config: runtimev1.ClientConfig{URL: "https://a.example", Service: service}, err: "a url and a service"},
		{name: "http", reason: "an extension can't authenticate callers without TLS",
			config: runtimev1.ClientConfig{URL: "http://a.example"}, err: "must be of the form"},
		{name: "no url", reason: "the URL doesn't parse", config: runtimev1.ClientConfig{URL: "https://[::1"},
			err: "spec.clientConfig.url"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := hookclient.BaseURL(test.config)
			switch {
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v lacks %q (%s)", err, test.err, test.reason)
			case test.err == "" && (err != nil || got.String() != test.want):
				t.Errorf("%v, %v (%s)", got, err, test.reason)
			}
		})
	}
}

// TestClientCertificateRotates replaces the files of the client certificate between calls. The next call must use the
// new certificate. While only one of the two files is new, calls must use the old certificate.
func TestClientCertificateRotates(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		seen <- req.TLS.PeerCertificates[0].Subject.CommonName
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)

	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	age := time.Now().Add(-time.Hour)
	write := func(id identity) string {
		t.Helper()
		age = age.Add(time.Second) // some file systems store times in whole seconds
		for name, data := range map[string][]byte{certFile: id.pem, keyFile: id.key} {
			if err := errors.Join(os.WriteFile(name, data, 0o600), os.Chtimes(name, age, age)); err != nil {
				t.Fatal(err)
			}
		}
		leaf, err := x509.ParseCertificate(id.pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	first := write(selfSigned(t))
	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{CertFile: certFile, KeyFile: keyFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connector.Close)
	call := func(want string) {
		t.Helper()
		connection, err := connector.Connect(runtimev1.ClientConfig{URL: server.URL, CABundle: certificateOf(server)})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := connection.HTTP.Get(connection.URL.String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := <-seen; got != want {
			t.Errorf("the server sees certificate %s, not %s", got, want)
		}
	}
	call(first)
	second := write(selfSigned(t))
	call(second)
	if err := os.WriteFile(keyFile, []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(second) // at this moment, only one of the two files is replaced
	call(write(selfSigned(t)))

	if _, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{CertFile: certFile}); err == nil {
		t.Error("a certificate without a key is accepted")
	}
	if _, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{CertFile: certFile, KeyFile: filepath.Join(dir, "none")}); err == nil {
		t.Error("a key that isn't there is accepted")
	}
}
