package webhooksuite_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// serving has the TLS settings of a webhook.
type serving struct {
	names       []string
	begin, end  time.Duration
	key         func(t *testing.T) crypto.Signer
	least, most uint16
	// stranger selects a certificate from an authority that isn't in the configuration.
	stranger bool
}

const serviceName = "right.right-system.svc"

func rightServing() serving {
	return serving{names: []string{serviceName}, begin: -time.Hour, end: 90 * 24 * time.Hour, key: ecdsaKey, least: tls.VersionTLS12, most: tls.VersionTLS13}
}

func ecdsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func shortKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skipf("this Go makes no short keys: %v", err)
	}
	return key
}

// serve starts a good webhook with the settings, and returns its endpoint.
func (s serving) serve(t *testing.T) webhooksuite.Endpoint {
	t.Helper()
	authority, authorityKey := newAuthority(t)
	trusted := authority
	if s.stranger {
		trusted, _ = newAuthority(t)
	}
	key := s.key(t)
	now := time.Now()
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: serviceName}, DNSNames: s.names,
		NotBefore: now.Add(s.begin), NotAfter: now.Add(s.end),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(good())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: s.least, MaxVersion: s.most}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(trusted)
	return webhooksuite.Endpoint{URL: server.URL + "/", TLS: &tls.Config{RootCAs: roots, ServerName: serviceName}}
}

func newAuthority(t *testing.T) (*x509.Certificate, crypto.Signer) {
	t.Helper()
	key := ecdsaKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(1000 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// Each row gives the TLS settings of a webhook one fault. The row's field "by" is the identifier of the case that must
// have a finding about this fault. Without a fault, no case has a finding.
func TestCertificates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, by string
		level    webhooksuite.Level
		change   func(*serving)
	}{
		{"right", "", "", func(*serving) {}},
		{"another authority", "tls.chain", webhooksuite.LevelError, func(s *serving) { s.stranger = true }},
		{"another name", "tls.name", webhooksuite.LevelError, func(s *serving) { s.names = []string{"localhost"} }},
		{"common name alone", "tls.name", webhooksuite.LevelError, func(s *serving) { s.names = nil }},
		{"expired", "tls.expiry", webhooksuite.LevelError, func(s *serving) { s.begin, s.end = -2*time.Hour, -time.Hour }},
		{"not yet", "tls.expiry", webhooksuite.LevelError, func(s *serving) { s.begin = time.Hour }},
		{"ends soon", "tls.expiry", webhooksuite.LevelWarning, func(s *serving) { s.end = 24 * time.Hour }},
		{"short key", "tls.key", webhooksuite.LevelWarning, func(s *serving) { s.key = shortKey }},
		{"1.2 alone", "tls.versions", webhooksuite.LevelWarning, func(s *serving) { s.most = tls.VersionTLS12 }},
		{"1.3 alone", "tls.versions", webhooksuite.LevelWarning, func(s *serving) { s.least = tls.VersionTLS13 }},
		{"1.0 too", "tls.obsolete", webhooksuite.LevelWarning, func(s *serving) { s.least = tls.VersionTLS10 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := rightServing()
			tc.change(&s)
			hook := configured(t, "")
			hook.Endpoint = s.serve(t)
			expectOnly(t, &webhooksuite.Suite{Hooks: []webhooksuite.Hook{hook}}, "tls.", tc.by, tc.level)
		})
	}
}

// A webhook with an http URL fails the case about TLS. The cases about certificates have no finding.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(good())
	t.Cleanup(server.Close)
	hook := configured(t, "")
	hook.Endpoint = webhooksuite.Endpoint{URL: server.URL}
	expectOnly(t, &webhooksuite.Suite{Hooks: []webhooksuite.Hook{hook}}, "tls.", "tls.https", webhooksuite.LevelError)
}

// expectOnly runs the cases whose identifiers begin with prefix. The argument "by" is the identifier of the only
// case that must have findings, and level is the level of these findings. If "by" is "", no case may have findings.
func expectOnly(t *testing.T, suite *webhooksuite.Suite, prefix, by string, level webhooksuite.Level) {
	t.Helper()
	found := false
	for _, c := range webhooksuite.Cases() {
		if !strings.HasPrefix(c.ID, prefix) {
			continue
		}
		findings, err := c.Run(context.Background(), suite)
		var skipped webhooksuite.Skipped
		if err != nil && !asSkipped(err, &skipped) {
			t.Fatal(err)
		}
		for _, f := range findings {
			switch {
			case c.ID != by:
				t.Errorf("%s: %s", c.ID, f.Seen)
			case f.Level != level:
				t.Errorf("%s: want the level %s, got %s: %s", c.ID, level, f.Level, f.Seen)
			}
			found = found || c.ID == by
		}
	}
	if by != "" && !found {
		t.Errorf("%s finds nothing", by)
	}
}
