package authn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	cryptox509 "crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// counted counts the requests that reach the authenticator behind the cache.
type counted struct {
	authenticator.Request
	calls int
}

func (c *counted) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	c.calls++
	return c.Request.AuthenticateRequest(req)
}

func TestClientCertAuthenticator(t *testing.T) {
	t.Parallel()
	pool, jane := issueClientCert(t, "jane")
	others, joe := issueClientCert(t, "joe")

	options := cryptox509.VerifyOptions{Roots: pool, KeyUsages: []cryptox509.ExtKeyUsage{cryptox509.ExtKeyUsageClientAuth}}
	a := newClientCertAuthenticator(func() (cryptox509.VerifyOptions, bool) { return options, options.Roots != nil })
	verifications := &counted{Request: a.delegate}
	a.delegate = verifications

	for _, step := range []struct {
		name, reason string
		roots        *cryptox509.CertPool
		certificate  *cryptox509.Certificate
		user         string // empty for a request without a user
		refused      bool
		verified     int // the number of verifications from the beginning of the test
	}{
		{"first", "the cache doesn't have the certificate yet", pool, jane, "jane", false, 1},
		{"again", "the certificate was verified a moment ago", pool, jane, "jane", false, 1},
		{"another's", "the authority of the certificate isn't trusted", pool, joe, "", true, 2},
		{"another's again", "the cache doesn't keep refusals", pool, joe, "", true, 3},
		{"other authorities", "the file has other authorities now", others, jane, "", true, 4},
		{"their own", "one of the other authorities has issued the certificate", others, joe, "joe", false, 5},
		{"without a certificate", "other authenticators may authenticate the request", others, nil, "", false, 5},
		{"without authorities", "the file has no authorities yet", nil, joe, "", false, 5},
	} {
		options.Roots = step.roots
		state := &tls.ConnectionState{}
		if step.certificate != nil {
			state.PeerCertificates = []*cryptox509.Certificate{step.certificate}
		}
		response, ok, err := a.AuthenticateRequest(&http.Request{TLS: state})
		got := ""
		if ok {
			got = response.User.GetName()
		}
		if diff := cmp.Diff(step.user, got); diff != "" {
			t.Errorf("%s: %s: user (-want +got):\n%s", step.name, step.reason, diff)
		}
		if (err != nil) != step.refused {
			t.Errorf("%s: %s: error %v, want one: %t", step.name, step.reason, err, step.refused)
		}
		if verifications.calls != step.verified {
			t.Errorf("%s: %s: verified %d times by now, want %d", step.name, step.reason, verifications.calls, step.verified)
		}
	}
}

// issueClientCert returns a new authority, and a certificate of the authority.
func issueClientCert(t *testing.T, name string) (*cryptox509.CertPool, *cryptox509.Certificate) {
	t.Helper()
	create := func(template, parent *cryptox509.Certificate, key, signer *ecdsa.PrivateKey) *cryptox509.Certificate {
		der, err := cryptox509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := cryptox509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return certificate
	}
	var keys [2]*ecdsa.PrivateKey
	for i := range keys {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = key
	}
	now := time.Now()
	template := &cryptox509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name + "'s"}, NotBefore: now.Add(-time.Minute),
		NotAfter: now.Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: cryptox509.KeyUsageCertSign,
	}
	authority := create(template, template, keys[0], keys[0])
	pool := cryptox509.NewCertPool()
	pool.AddCert(authority)
	return pool, create(&cryptox509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour),
		ExtKeyUsage: []cryptox509.ExtKeyUsage{cryptox509.ExtKeyUsageClientAuth},
	}, authority, keys[1], keys[0])
}
