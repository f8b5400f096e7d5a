package authentication

import (
	cryptox509 "crypto/x509"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/x509"
)

const (
	// clientCertTTL is for how long a verified certificate isn't verified again. It is short, as that
	// of the token cache is: what has no key below, an intermediate certificate's end, counts after it.
	clientCertTTL = 10 * time.Second
	// clientCerts is of how many certificates that is known.
	clientCerts = 1024
)

// clientCertAuthenticator authenticates by client certificates as the library does, and remembers who
// was authenticated: to verify a signature for every request of a connection is a third of the work
// of a small request.
type clientCertAuthenticator struct {
	verifyOptions x509.VerifyOptionFunc
	delegate      authenticator.Request
	verified      *cache.LRUExpireCache
}

func newClientCertAuthenticator(verifyOptions x509.VerifyOptionFunc) *clientCertAuthenticator {
	return &clientCertAuthenticator{
		verifyOptions: verifyOptions,
		delegate:      x509.NewDynamic(verifyOptions, x509.CommonNameUserConversion),
		verified:      cache.NewLRUExpireCache(clientCerts),
	}
}

// verifiedCert is a certificate, as the connections that present it share it, and the authorities by
// which it was verified: when their file changes, they are others.
type verifiedCert struct {
	certificate *cryptox509.Certificate
	roots       *cryptox509.CertPool
}

// AuthenticateRequest implements authenticator.Request.
func (a *clientCertAuthenticator) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	options, ok := a.verifyOptions()
	if !ok || req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	key := verifiedCert{req.TLS.PeerCertificates[0], options.Roots}
	if response, ok := a.verified.Get(key); ok {
		return response.(*authenticator.Response), true, nil
	}
	response, ok, err := a.delegate.AuthenticateRequest(req)
	if ok && err == nil {
		a.verified.Add(key, response, min(clientCertTTL, time.Until(key.certificate.NotAfter)))
	}
	return response, ok, err
}
