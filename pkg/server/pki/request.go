package pki

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// NewRequest makes a key, and a request for a serving certificate of the key (RFC 2986), both in PEM. The key stays
// with the caller.
func NewRequest(names Names) (request, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template := servingTemplate(names)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: template.Subject, DNSNames: template.DNSNames, IPAddresses: template.IPAddresses,
	}, private)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateRequestBlockType, Bytes: der}), key, err
}

// ClientFor issues a certificate for a request. The subject, the names and the key come from the request. The usages
// and the times come from the template. The certificate expires no later than the certificate of the authority. The
// result is the certificate alone, in PEM.
func (a *Authority) ClientFor(request *x509.CertificateRequest, template *x509.Certificate) ([]byte, error) {
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("unable to verify certificate request signature: %w", err)
	}
	if now := a.now(); !now.Before(a.certificate.NotAfter) {
		return nil, fmt.Errorf("the signer has expired: NotAfter=%v", a.certificate.NotAfter)
	}
	issued := *template
	issued.Subject, issued.BasicConstraintsValid = request.Subject, true
	issued.DNSNames, issued.IPAddresses = request.DNSNames, request.IPAddresses
	issued.EmailAddresses, issued.URIs = request.EmailAddresses, request.URIs
	if issued.NotAfter.After(a.certificate.NotAfter) {
		issued.NotAfter = a.certificate.NotAfter
	}
	certificate, err := a.signFor(&issued, a.certificate, request.PublicKey)
	if err != nil {
		return nil, err
	}
	return encode(certificate), nil
}

// ServingFor issues a serving certificate for a request in PEM. It takes only the DNS names, the IP addresses and the
// key from the request. The result is the certificate, followed by the authority's certificate.
func (a *Authority) ServingFor(request []byte) (chain []byte, err error) {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != certutil.CertificateRequestBlockType {
		return nil, errors.New("certificate request: must be in PEM, beginning with -----BEGIN CERTIFICATE REQUEST-----")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := parsed.CheckSignature(); err != nil {
		return nil, fmt.Errorf("certificate request: must be signed by the key of the request: %w", err)
	}
	if len(parsed.DNSNames) == 0 && len(parsed.IPAddresses) == 0 {
		return nil, errors.New("certificate request: no host is named: subjectAltName must have DNS names or IP addresses")
	}
	return a.issue(servingTemplate(Names{DNS: parsed.DNSNames, IPs: parsed.IPAddresses}), parsed.PublicKey)
}
