// Package signing parses certificate requests, and checks permissions for the signers that answer them. The kinds of
// API group certificates.k8s.io and admission plugins use it.
//
// The package checks only permissions for the resource "signers". For other permissions, call the authorizer itself.
package signing

import (
	"context"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2"
)

// Permitted reports whether the user may use the verb (approve, sign or attest) for the signer, or for all signers
// of the signer's domain. An error of the authorizer is only logged, because its decision counts.
func Permitted(ctx context.Context, a authorizer.UnconditionalAuthorizer, by user.Info, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, reason, err := a.Authorize(ctx, authorizer.AttributesRecord{
			User:            by,
			Verb:            verb,
			APIGroup:        certificatesv1.GroupName,
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
