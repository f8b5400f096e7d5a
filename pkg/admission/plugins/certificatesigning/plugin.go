// Package certificatesigning has the plugin CertificateSigning: a user who issues a certificate, or marks the
// request as failed, must have the permission to sign for the request's signer.
//
// The plugin doesn't check the certificate: its content is the signer's responsibility. The plugin
// CertificateApproval checks approvals.
package certificatesigning

import (
	"bytes"
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/signers"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "CertificateSigning"

// New returns the plugin.
func New() *Plugin { return &Plugin{signers.NewHandler(admission.Update)} }

// Plugin refuses changes of the certificate or the conditions in a request's status, unless the user has the permission
// to sign for the request's signer.
type Plugin struct{ *signers.Handler }

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != certificatesv1.Resource("certificatesigningrequests") || a.GetSubresource() != "status" {
		return nil
	}
	old, ok := a.GetOldObject().(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return admission.NewForbidden(a, fmt.Errorf("expected type CertificateSigningRequest, got: %T", a.GetOldObject()))
	}
	request, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return admission.NewForbidden(a, fmt.Errorf("expected type CertificateSigningRequest, got: %T", a.GetObject()))
	}
	if bytes.Equal(old.Status.Certificate, request.Status.Certificate) && equality.Semantic.DeepEqual(old.Status.Conditions, request.Status.Conditions) {
		return nil
	}
	if !p.Authorized(ctx, a.GetUserInfo(), "sign", old.Spec.SignerName) {
		return admission.NewForbidden(a, fmt.Errorf("user not permitted to sign requests with signerName %q", old.Spec.SignerName))
	}
	return nil
}
