package serviceaccounttokens

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
	"k8s.io/client-go/util/keyutil"
)

// Signer signs tokens with one private key.
type Signer struct {
	key    crypto.Signer
	public PublicKey
}

// NewSigner makes a signer of an RSA or ECDSA key. The algorithm depends on the key's type: RS256, ES256, ES384 or
// ES512.
func NewSigner(key any) (*Signer, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T can't sign service account tokens: must be an RSA or ECDSA key", key)
	}
	public, err := newPublicKey(signer.Public())
	if err != nil {
		return nil, err
	}
	return &Signer{key: signer, public: public}, nil
}

// GenerateSigner makes a signer with a new ECDSA P-256 key. The key isn't stored, so its tokens are invalid after the
// end of the process.
func GenerateSigner() (*Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate service account signing key: %w", err)
	}
	return NewSigner(key)
}

// LoadSigner makes a signer of the RSA or ECDSA private key in a PEM file.
func LoadSigner(file string) (*Signer, error) {
	key, err := keyutil.PrivateKeyFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read service account signing key %s: %w", file, err)
	}
	return NewSigner(key)
}

// Public returns the key that verifies the signer's tokens.
func (s *Signer) Public() PublicKey { return s.public }

func (s *Signer) sign(claims jwt.Claims) (string, error) {
	token := jwt.NewWithClaims(jwt.GetSigningMethod(s.public.Algorithm), claims)
	delete(token.Header, "typ") // like kube-apiserver, send only alg and kid
	token.Header["kid"] = s.public.ID
	signed, err := token.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign service account token: %w", err)
	}
	return signed, nil
}

// PublicKey verifies tokens.
type PublicKey struct {
	// Key is an *rsa.PublicKey or an *ecdsa.PublicKey.
	Key crypto.PublicKey
	// ID is the kid header of tokens. It is a hash of the key, so every server derives the same ID.
	ID string
	// Algorithm is the only algorithm that is accepted for the key (RFC 7518).
	Algorithm string
}

func newPublicKey(key crypto.PublicKey) (PublicKey, error) {
	algorithm, err := algorithmFor(key)
	if err != nil {
		return PublicKey{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, fmt.Errorf("serialize service account public key: %w", err)
	}
	hash := sha256.Sum256(der)
	return PublicKey{Key: key, ID: base64.RawURLEncoding.EncodeToString(hash[:]), Algorithm: algorithm}, nil
}

func algorithmFor(key crypto.PublicKey) (string, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return jwt.SigningMethodRS256.Alg(), nil
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return jwt.SigningMethodES256.Alg(), nil
		case elliptic.P384():
			return jwt.SigningMethodES384.Alg(), nil
		case elliptic.P521():
			return jwt.SigningMethodES512.Alg(), nil
		}
		return "", fmt.Errorf("curve %s of the service account key must be P-256, P-384 or P-521", key.Curve.Params().Name)
	}
	return "", fmt.Errorf("a service account key of type %T must be an RSA or ECDSA key", key)
}

// KeySet has the accepted public keys, in order and without duplicates.
type KeySet []PublicKey

// LoadKeySet reads the public keys in PEM files. A file may have several entries: public keys, certificates, or private
// keys, of which LoadKeySet takes the public part.
func LoadKeySet(files ...string) (KeySet, error) {
	var set KeySet
	for _, file := range files {
		keys, err := keyutil.PublicKeysFromFile(file)
		if err != nil {
			return nil, fmt.Errorf("read service account keys %s: %w", file, err)
		}
		for _, key := range keys {
			public, err := newPublicKey(key)
			if err != nil {
				return nil, fmt.Errorf("read service account keys %s: %w", file, err)
			}
			set = set.With(public)
		}
	}
	return set, nil
}

// With returns the set with one more key. If the set already has the key, With returns the set unchanged.
func (s KeySet) With(key PublicKey) KeySet {
	for _, have := range s {
		if have.ID == key.ID {
			return s
		}
	}
	return append(s[:len(s):len(s)], key)
}

// named returns the keys that may verify a token with a key ID (kid). A token without a kid may have been signed by any
// key.
func (s KeySet) named(id string) KeySet {
	if id == "" {
		return s
	}
	for _, key := range s {
		if key.ID == id {
			return KeySet{key}
		}
	}
	return nil
}
