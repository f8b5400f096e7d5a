package signing

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// ParseRequest parses a certificate request that is encoded as a PEM block. It doesn't check the signature.
func ParseRequest(request []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
