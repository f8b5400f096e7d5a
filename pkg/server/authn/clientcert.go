package authn

import (
	cryptox509 "crypto/x509"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

const (
	// clientCertTTL is the time for which the result of a verification is cached. Within this time, only the expiry
	// of the client's own certificate is checked, not the expiry of intermediate certificates. So the time is as
	// short as the lifetime of entries in the token cache.
	clientCertTTL = 10 * time.Second
	// clientCerts is the largest number of certificates in the cache.
	clientCerts = 1024
)

// clientCertAuthenticator authenticates by client certificates as k8s.io/apiserver does, and caches successful results.
// Without the cache, the verification of the signature takes a large part of the time of a small request.
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

// verifiedCert is a key of the cache: a certificate and the authorities that verified it. Both are pointers. The
// requests of a connection share the pointer to the certificate. A changed file of authorities gives a new pointer to
// authorities.
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

// loadClientCAs returns the authorities of --client-ca-file, and the authorities of the argument own.
func loadClientCAs(o *Options, own dynamiccertificates.CAContentProvider) ([]dynamiccertificates.CAContentProvider, error) {
	var authorities []dynamiccertificates.CAContentProvider
	if o.ClientCAFile != "" {
		file, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca-bundle", o.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file %s: %w", o.ClientCAFile, err)
		}
		authorities = append(authorities, file)
	}
	if own != nil {
		authorities = append(authorities, own)
	}
	return authorities, nil
}
