// Package certificateapproval has the plugin CertificateApproval: a user who approves a certificate signing request
// must have the permission to approve requests for its signer.
//
// The plugin doesn't check whether the request deserves a certificate, which is the approver's decision. The plugin
// CertificateSigning checks the user who issues the certificate.
package certificateapproval

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/signers"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "CertificateApproval"

// New returns the plugin.
func New() *Plugin { return &Plugin{signers.NewHandler(admission.Update)} }

// Plugin refuses approvals by users without the permission to approve for the signer.
type Plugin struct{ *signers.Handler }

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != certificatesv1.Resource("certificatesigningrequests") || a.GetSubresource() != "approval" {
		return nil
	}
	// Check the signer of the stored CertificateSigningRequest: the object that the approver sends could name another.
	request, ok := a.GetOldObject().(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return admission.NewForbidden(a, fmt.Errorf("expected type CertificateSigningRequest, got: %T", a.GetOldObject()))
	}
	if !p.Authorized(ctx, a.GetUserInfo(), "approve", request.Spec.SignerName) {
		return admission.NewForbidden(a, fmt.Errorf("user not permitted to approve requests with signerName %q", request.Spec.SignerName))
	}
	return nil
}
