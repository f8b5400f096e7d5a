package listener

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log" //nolint:depguard // net/http takes no other logger
	"math/big"
	"net"
	"time"
)

// validity is that of a certificate: longer than any run, and short enough to be worthless afterwards.
const validity = 24 * time.Hour

// pair is a certificate for a host, and the authority that signed it.
type pair struct {
	certificate tls.Certificate
	authority   []byte
}

// newPair makes an authority and a certificate of it for a host, which is a name or an address.
func newPair(host string) (*pair, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "conformance authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "conformance webhook"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		leaf.IPAddresses = []net.IP{ip}
	} else {
		leaf.DNSNames = []string{host}
	}
	served, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	return &pair{
		certificate: tls.Certificate{Certificate: [][]byte{served}, PrivateKey: key},
		authority:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
	}, nil
}

// OtherAuthority returns an authority, in PEM, that has signed no listener's certificate.
func OtherAuthority() ([]byte, error) {
	other, err := newPair("other.invalid")
	if err != nil {
		return nil, err
	}
	return other.authority, nil
}

// silent returns a logger that drops messages: a handshake that a case lets fail is no news.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }
