package server

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// certificateAge is how long certificates of our own are valid. Servers that keep
// their data write a new kubeconfig at each start, so nothing outlives it.
const certificateAge = 10 * 365 * 24 * time.Hour

// keyPair is a certificate and its key, in PEM.
type keyPair struct{ cert, key []byte }

// authority is a certificate authority of this server's own, kept in memory. Its
// keys are ECDSA: an RSA key takes longer to make than the server takes to start.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := certificateTemplate(name)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key, encodeCertificates(certificate)}, nil
}

// serving issues a serving certificate for the given names and addresses.
func (a *authority) serving(hosts []string, ips []net.IP) (keyPair, error) {
	template, err := certificateTemplate(hosts[0])
	if err != nil {
		return keyPair{}, err
	}
	template.DNSNames, template.IPAddresses = hosts, ips
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.issue(template)
}

// client issues a client certificate: the common name is the user, the
// organizations are the groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template, err := certificateTemplate(user)
	if err != nil {
		return keyPair{}, err
	}
	template.Subject.Organization = groups
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return keyPair{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encodeCertificates(certificate, a.certificate), key: keyPEM}, nil
}

func certificateTemplate(commonName string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		// An hour back, for clients whose clock is late.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(certificateAge),
	}, nil
}

func encodeCertificates(certificates ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: c.Raw})...)
	}
	return out
}

// servingPairIn returns the pair "apiserver.crt" and "apiserver.key" of a directory,
// the names that kube-apiserver uses, and makes it when it isn't there yet.
func servingPairIn(dir string, create func() (keyPair, error)) (certFile, keyFile string, err error) {
	certFile, keyFile = filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key")
	_, certErr := os.Stat(certFile)
	_, keyErr := os.Stat(keyFile)
	if certErr == nil && keyErr == nil {
		return certFile, keyFile, nil
	}
	if missing := errors.Is(certErr, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist); !missing {
		return "", "", fmt.Errorf("--cert-dir %s: apiserver.crt and apiserver.key must both be there and readable, or neither: %w", dir, errors.Join(certErr, keyErr))
	}
	pair, err := create()
	if err != nil {
		return "", "", err
	}
	if err := certutil.WriteCert(certFile, pair.cert); err != nil {
		return "", "", fmt.Errorf("--cert-dir %s: %w", dir, err)
	}
	if err := keyutil.WriteKey(keyFile, pair.key); err != nil {
		return "", "", fmt.Errorf("--cert-dir %s: %w", dir, err)
	}
	return certFile, keyFile, nil
}
