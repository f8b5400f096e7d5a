// Package certificatesubjectrestriction has the plugin CertificateSubjectRestriction: a certificate signing request
// can't make its user a member of system:masters.
//
// The plugin checks only requests to the signer kubernetes.io/kube-apiserver-client. To restrict other signers or
// groups, write a webhook: a policy can't parse a certificate request.
package certificatesubjectrestriction

import (
	"context"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/miniapi-dev/miniapi/pkg/registry/signing"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "CertificateSubjectRestriction"

// New returns the plugin.
func New() admission.ValidationInterface {
	return plugin{admission.NewHandler(admission.Create)}
}

type plugin struct{ *admission.Handler }

// Validate implements admission.ValidationInterface.
func (plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != certificatesv1.Resource("certificatesigningrequests") || a.GetSubresource() != "" {
		return nil
	}
	request, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return admission.NewForbidden(a, fmt.Errorf("expected type CertificateSigningRequest, got: %T", a.GetObject()))
	}
	if request.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	parsed, err := signing.ParseRequest(request.Spec.Request)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(parsed.Subject.Organization, user.SystemPrivilegedGroup) {
		return admission.NewForbidden(a, fmt.Errorf("use of %s signer with %s group is not allowed", certificatesv1.KubeAPIServerClientSignerName, user.SystemPrivilegedGroup))
	}
	return nil
}
