// Package clustertrustbundleattest has the plugin ClusterTrustBundleAttest: a user who writes the trust bundle of a
// signer must have the permission to attest for the signer.
//
// The plugin doesn't check the certificates, and ignores bundles without a signer. A deletion needs only the
// usual permission to delete.
package clustertrustbundleattest

import (
	"context"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/signers"
)

// Name is the plugin's name.
const Name = "ClusterTrustBundleAttest"

// New returns the plugin.
func New() *Plugin { return &Plugin{signers.NewHandler(admission.Create, admission.Update)} }

// Plugin refuses trust bundles of users without the permission to attest for the signer.
type Plugin struct{ *signers.Handler }

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != certificatesv1.Resource("clustertrustbundles") {
		return nil
	}
	bundle, ok := a.GetObject().(*certificatesv1.ClusterTrustBundle)
	if !ok {
		return admission.NewForbidden(a, fmt.Errorf("expected type ClusterTrustBundle, got: %T", a.GetObject()))
	}
	if a.GetOperation() == admission.Update {
		old, ok := a.GetOldObject().(*certificatesv1.ClusterTrustBundle)
		if !ok {
			return admission.NewForbidden(a, fmt.Errorf("expected type ClusterTrustBundle, got: %T", a.GetOldObject()))
		}
		// Validation would also refuse a change of the signer. But its error names the stored signer, and the user may
		// have no permission to read that name.
		if old.Spec.SignerName != bundle.Spec.SignerName {
			return admission.NewForbidden(a, errors.New("changing signerName is forbidden"))
		}
	}
	if signer := bundle.Spec.SignerName; signer != "" && !p.Authorized(ctx, a.GetUserInfo(), "attest", signer) {
		return admission.NewForbidden(a, fmt.Errorf("user not permitted to attest for signerName %q", signer))
	}
	return nil
}
