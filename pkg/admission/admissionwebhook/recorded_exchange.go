package admissionwebhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"

	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// exchanges returns a transport that records the HTTP request of the call and its response.
func (r *callRecord) exchanges(rt http.RoundTripper) http.RoundTripper {
	return recordedExchange{rt, r}
}

type recordedExchange struct {
	http.RoundTripper
	record *callRecord
}

// RoundTrip implements http.RoundTripper.
func (e recordedExchange) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := e.RoundTripper.RoundTrip(req)
	url, status := *req.URL, 0
	url.RawQuery = ""
	if err == nil {
		status = response.StatusCode
	}
	var rejected *trace.Certificate
	if unverified := new(tls.CertificateVerificationError); errors.As(err, &unverified) {
		rejected = rejectedCertificate(unverified.UnverifiedCertificates[0], e.record.caBundle)
	}
	e.record.scope.Update(func(*trace.Request) {
		call := e.record.call
		call.URL, call.Status, call.Certificate = url.String(), status, rejected
	})
	return response, err
}

// rejectedCertificate returns the record of a certificate that the authorities of the caBundle didn't verify.
func rejectedCertificate(presented *x509.Certificate, caBundle []byte) *trace.Certificate {
	c := &trace.Certificate{
		Subject: presented.Subject.String(), Names: slices.Clone(presented.DNSNames),
		Issuer: presented.Issuer.String(), NotAfter: presented.NotAfter,
	}
	for _, ip := range presented.IPAddresses {
		c.Names = append(c.Names, ip.String())
	}
	authorities, _ := certutil.ParseCertsPEM(caBundle) // a configuration may have no caBundle
	for _, authority := range authorities {
		c.Authorities = append(c.Authorities, authority.Subject.String())
	}
	return c
}
