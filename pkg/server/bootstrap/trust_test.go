package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certutil "k8s.io/client-go/util/cert"
)

// newAuthority returns a certificate in PEM.
func newAuthority(t *testing.T, name string, end time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: end.Add(-time.Hour), NotAfter: end, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	text, err := certutil.EncodeCertificates(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCombineTrust(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a, b, expired := newAuthority(t, "a", now.Add(time.Minute)), newAuthority(t, "b", now.Add(time.Minute)), newAuthority(t, "c", now.Add(-time.Minute))
	const ca, names = "client-ca-file", "requestheader-allowed-names"
	for _, test := range []struct {
		name, reason     string
		have, want, both map[string]string
	}{
		{"first server", "no entry exists", nil, map[string]string{ca: a, names: `["x"]`}, map[string]string{ca: a, names: `["x"]`}},
		{"another server", "clients of both servers are authenticated", map[string]string{ca: a, names: `["x","y"]`}, map[string]string{ca: b, names: `["y","z"]`}, map[string]string{ca: a + b, names: `["x","y","z"]`}},
		{"the same server", "a restart changes nothing", map[string]string{ca: a + b}, map[string]string{ca: a}, map[string]string{ca: a + b}},
		{"expired", "a certificate that has expired authenticates nobody", map[string]string{ca: expired + a}, map[string]string{ca: b}, map[string]string{ca: a + b}},
		{"other entries", "another server has published them", map[string]string{names: `["x"]`}, map[string]string{ca: a}, map[string]string{ca: a, names: `["x"]`}},
		{"unreadable", "a damaged entry doesn't stop a server", map[string]string{ca: "no PEM", names: "x"}, map[string]string{ca: a, names: `["y"]`}, map[string]string{ca: a, names: `["y"]`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.both, combineTrust(test.have, test.want, now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
