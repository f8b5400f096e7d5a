// Package signers tells who may act on requests that are addressed to a signer of certificates.
package signers

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2"
)

// Authorized tells whether the user may do something (approve, sign, attest) for the signer, or for all
// signers of its domain.
func Authorized(ctx context.Context, authz authorizer.UnconditionalAuthorizer, by user.Info, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, reason, err := authz.Authorize(ctx, authorizer.AttributesRecord{
			User:            by,
			Verb:            verb,
			APIGroup:        "certificates.k8s.io",
			APIVersion:      "*",
			Resource:        "signers",
			Name:            name,
			ResourceRequest: true,
		})
		if decision == authorizer.DecisionAllow {
			return true
		}
		klog.FromContext(ctx).V(4).Info("user not permitted for signer", "user", by.GetName(), "verb", verb, "signer", name, "reason", reason, "err", err)
	}
	return false
}

// ParseRequest returns the certificate request of a PEM block.
func ParseRequest(request []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
