package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// These are the files of a Store. kubeadm uses the same names.
const (
	AuthorityCert      = "ca.crt"
	AuthorityKey       = "ca.key"
	FrontProxyCert     = "front-proxy-ca.crt"
	FrontProxyKey      = "front-proxy-ca.key"
	ServingCert        = "apiserver.crt"
	ServingKey         = "apiserver.key"
	ServiceAccountsKey = "sa.key"
	// ServiceAccountsPublicKey is the public key of service account tokens. If the file exists without the private key,
	// the private key has been lost.
	ServiceAccountsPublicKey = "sa.pub"
)

// endsWith has, for each key file, a text for errors that says what happens if the key and its public file are removed.
var endsWith = map[string]string{
	AuthorityKey:       "kubeconfigs and certificates that were issued until now become invalid",
	FrontProxyKey:      "a new authority is made",
	ServingKey:         "a new key is made",
	ServiceAccountsKey: "the tokens of service accounts become invalid",
}

// issuedAgain has, for each key file with a certificate, a text for errors that says what happens if the file of the
// certificate is removed.
var issuedAgain = map[string]string{
	AuthorityKey:  "a new certificate is issued for the key; if " + AuthorityKey + " has been replaced, " + endsWith[AuthorityKey],
	FrontProxyKey: "a new certificate is issued for the key",
	ServingKey:    "a new certificate is issued for the key",
}

// Store is a folder of keys and certificates. Only its owner can read the keys. Several servers may share it: the first
// server makes missing files. A nil Store stores nothing.
type Store struct {
	dir string
	now func() time.Time
}

// NewStore returns the store in a folder. The folder is made when the first file is stored.
func NewStore(dir string) *Store { return &Store{dir: dir, now: time.Now} }

// Path returns the path of a file of the store.
func (s *Store) Path(file string) string { return filepath.Join(s.dir, file) }

// Authority returns the stored authority, or makes one. If its self-signed certificate expires soon, Authority renews
// the certificate with the same key, so that issued certificates stay valid.
func (s *Store) Authority(name string) (*Authority, error) {
	return s.authority(name, AuthorityCert, AuthorityKey)
}

// FrontProxy returns the stored authority of front proxies' certificates, as Authority does.
func (s *Store) FrontProxy(name string) (*Authority, error) {
	return s.authority(name, FrontProxyCert, FrontProxyKey)
}

func (s *Store) authority(name, certFile, keyFile string) (*Authority, error) {
	if s == nil {
		return NewAuthority(name)
	}
	key, err := s.key(keyFile, certFile)
	if err != nil {
		return nil, err
	}
	a := &Authority{key: key, now: s.now, kept: true}
	a.certificate, err = s.certificate(certFile, keyFile, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := a.certify(&x509.Certificate{Subject: pkix.Name{CommonName: name}}); err != nil {
			return nil, err
		}
		// If the file exists now, another server has created it first, and this server uses that authority.
		if err := s.create(certFile, a.CA(), certMode); errors.Is(err, fs.ErrExist) {
			return s.authority(name, certFile, keyFile)
		} else if err != nil {
			return nil, err
		}
		return a, nil
	case err != nil:
		return nil, err
	case !a.certificate.IsCA:
		return nil, fmt.Errorf("%s: must be the certificate of an authority, with the basic constraint CA", s.Path(certFile))
	case !s.isDue(a.certificate) || a.certificate.CheckSignatureFrom(a.certificate) != nil:
		return a, nil
	}
	// OpenSSL compares key identifiers, and they can be computed in several ways, so the new certificate keeps the old
	// identifier.
	old := a.certificate
	if err := a.certify(&x509.Certificate{Subject: old.Subject, SubjectKeyId: old.SubjectKeyId}); err != nil {
		return nil, err
	}
	return a, s.replace(certFile, a.CA())
}

// Serving returns the stored serving certificate, or makes one. It issues a stored certificate again if the certificate
// expires soon, lacks some of the names, or is from an earlier authority of the store. The new certificate keeps the
// names of the old certificate: another server that shares the store may need these names. A certificate from any other
// authority stays unchanged.
func (s *Store) Serving(a *Authority, names Names) (KeyPair, error) {
	if s == nil {
		return a.Serving(names)
	}
	key, err := s.key(ServingKey, ServingCert)
	if err != nil {
		return KeyPair{}, err
	}
	certificate, err := s.certificate(ServingCert, ServingKey, key)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing:
	case err != nil:
		return KeyPair{}, err
	case !a.names(certificate), a.issued(certificate) && !s.isDue(certificate) && names.coveredBy(certificate):
		return s.read(ServingCert, ServingKey)
	default:
		names = names.with(certificate)
	}
	chain, err := a.issue(servingTemplate(names), key.Public())
	if err != nil {
		return KeyPair{}, err
	}
	if !missing {
		err = s.replace(ServingCert, chain)
	} else if err = s.create(ServingCert, chain, certMode); errors.Is(err, fs.ErrExist) { // another server has created the file first
		return s.Serving(a, names)
	}
	if err != nil {
		return KeyPair{}, err
	}
	return s.read(ServingCert, ServingKey)
}

// ServiceAccountKey returns the stored key that signs the tokens of service accounts, or makes one. It returns nil if
// the store is nil.
func (s *Store) ServiceAccountKey() (crypto.Signer, error) {
	if s == nil {
		return nil, nil
	}
	key, err := s.key(ServiceAccountsKey, ServiceAccountsPublicKey)
	if err != nil {
		return nil, err
	}
	return key, s.keepPublicKey(key)
}

// keepPublicKey writes the public key of service account tokens. It returns an error if the store has another public
// key.
func (s *Store) keepPublicKey(key crypto.Signer) error {
	const file = ServiceAccountsPublicKey
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	want := pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der})
	if err := s.create(file, want, certMode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	text, err := os.ReadFile(s.Path(file))
	if err != nil {
		return err
	}
	if kept, _ := pem.Decode(text); kept == nil || !bytes.Equal(kept.Bytes, der) {
		return fmt.Errorf("%s: must be the public key of %s: bring both files back from the same copy, or remove %s; then %s", s.Path(file), ServiceAccountsKey, file, endsWith[ServiceAccountsKey])
	}
	return nil
}

// key returns a stored key, or makes one. If only the key's public file exists, the key has been lost, and the result
// is an error.
func (s *Store) key(file, publicFile string) (crypto.Signer, error) {
	text, err := os.ReadFile(s.Path(file))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(s.Path(publicFile)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is missing, and %s exists: bring the key back from a copy, or remove %s too; then %s", s.Path(file), publicFile, publicFile, endsWith[file])
		}
		return s.makeKey(file, publicFile)
	}
	if err != nil {
		return nil, err
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, fmt.Errorf("%s: damaged: %w: bring the file back from a copy, or remove the file and %s; then %s", s.Path(file), err, publicFile, endsWith[file])
	}
	switch key := parsed.(type) {
	case *ecdsa.PrivateKey:
		return key, nil
	case *rsa.PrivateKey:
		return key, nil
	}
	return nil, fmt.Errorf("%s: the key is a %T, and must be an ECDSA or RSA key", s.Path(file), parsed)
}

func (s *Store) makeKey(file, publicFile string) (crypto.Signer, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	if err := s.create(file, text, keyMode); errors.Is(err, fs.ErrExist) { // another server has created the file first
		return s.key(file, publicFile)
	} else if err != nil {
		return nil, err
	}
	return key, nil
}

// certificate returns the first certificate of a file. It returns an error if the certificate isn't for the key, which
// is in keyFile.
func (s *Store) certificate(file, keyFile string, key crypto.Signer) (*x509.Certificate, error) {
	text, err := os.ReadFile(s.Path(file))
	if err != nil {
		return nil, err
	}
	advice := fmt.Sprintf("bring %[1]s and %[2]s back from the same copy, or remove %[1]s; then %[3]s", file, keyFile, issuedAgain[keyFile])
	certificates, err := certutil.ParseCertsPEM(text)
	if err != nil {
		return nil, fmt.Errorf("%s: damaged: %w: %s", s.Path(file), err, advice)
	}
	public, ok := certificates[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return nil, fmt.Errorf("%s: must be a certificate for the key in %s: %s", s.Path(file), keyFile, advice)
	}
	return certificates[0], nil
}

func (s *Store) read(certFile, keyFile string) (pair KeyPair, err error) {
	if pair.Cert, err = os.ReadFile(s.Path(certFile)); err != nil {
		return KeyPair{}, err
	}
	if pair.Key, err = os.ReadFile(s.Path(keyFile)); err != nil {
		return KeyPair{}, err
	}
	return pair, nil
}
