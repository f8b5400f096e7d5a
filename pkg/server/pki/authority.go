package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is the time for which a new certificate is valid.
const validity = 10 * 365 * 24 * time.Hour

// KeyPair has a certificate and its key, in PEM. If an Authority has issued the certificate, the certificate of the
// Authority follows it in Cert.
type KeyPair struct{ Cert, Key []byte }

// Authority is a certificate authority. New keys are ECDSA, because making an RSA key takes longer than the start of a
// server.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	now         func() time.Time
	kept        bool // true if a Store has the authority
}

// NewAuthority makes an authority that isn't stored.
func NewAuthority(name string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	a := &Authority{key: key, now: time.Now}
	return a, a.certify(&x509.Certificate{Subject: pkix.Name{CommonName: name}})
}

// certify issues the authority's own certificate.
func (a *Authority) certify(template *x509.Certificate) (err error) {
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	a.certificate, err = a.sign(template, template, a.key.Public())
	return err
}

// CA returns the authority's certificate, in PEM.
func (a *Authority) CA() []byte { return encode(a.certificate) }

// HasIssued reports whether the authority has issued the first certificate of a chain in PEM.
func (a *Authority) HasIssued(chain []byte) bool {
	certificates, err := certutil.ParseCertsPEM(chain)
	return err == nil && a.issued(certificates[0])
}

// issued tells whether the authority has issued the certificate.
func (a *Authority) issued(c *x509.Certificate) bool {
	return c.CheckSignatureFrom(a.certificate) == nil
}

// names tells whether a certificate names this authority as its issuer: the authority has issued it, or an earlier
// authority of the same Store and with the same name may have issued it.
func (a *Authority) names(c *x509.Certificate) bool {
	return a.issued(c) || a.kept && bytes.Equal(c.RawIssuer, a.certificate.RawSubject)
}

// Names are the names and addresses of a serving certificate.
type Names struct {
	DNS []string
	IPs []net.IP
}

// Serving issues a serving certificate with a new key.
func (a *Authority) Serving(names Names) (KeyPair, error) {
	return a.issueWithKey(servingTemplate(names))
}

// Client issues a client certificate with a new key: the common name is the user, the organizations are the groups.
func (a *Authority) Client(user string, groups ...string) (KeyPair, error) {
	return a.issueWithKey(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func servingTemplate(names Names) *x509.Certificate {
	template := &x509.Certificate{
		DNSNames: names.DNS, IPAddresses: names.IPs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	switch {
	case len(names.DNS) > 0:
		template.Subject.CommonName = names.DNS[0]
	case len(names.IPs) > 0:
		template.Subject.CommonName = names.IPs[0].String()
	}
	return template
}

func (a *Authority) issueWithKey(template *x509.Certificate) (KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	chain, err := a.issue(template, key.Public())
	if err != nil {
		return KeyPair{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	return KeyPair{Cert: chain, Key: keyPEM}, err
}

// issue issues a certificate for a key. The result is the certificate, followed by the authority's certificate, in PEM.
func (a *Authority) issue(template *x509.Certificate, key crypto.PublicKey) ([]byte, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	certificate, err := a.sign(template, a.certificate, key)
	if err != nil {
		return nil, err
	}
	return encode(certificate, a.certificate), nil
}

func (a *Authority) sign(template, parent *x509.Certificate, key crypto.PublicKey) (*x509.Certificate, error) {
	now := a.now()
	// The validity begins an hour earlier, for clients whose clock is slow.
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(validity)
	return a.signFor(template, parent, key)
}

// signFor signs a certificate. Unlike sign, it keeps the times of the template.
func (a *Authority) signFor(template, parent *x509.Certificate, key crypto.PublicKey) (*x509.Certificate, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func encode(certificates ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: c.Raw})...)
	}
	return out
}
