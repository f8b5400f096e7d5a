// Package clustertrustbundleattest has the plugin ClusterTrustBundleAttest: a user who writes the trust bundle of a
// signer must have the permission to attest for the signer.
//
// The plugin doesn't check the certificates, and ignores bundles without a signer. A deletion needs only the
// usual permission to delete. An update that changes only owner references, finalizers or managed fields needs only the
// usual permission to update.
package clustertrustbundleattest

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/signers"
)

// Name is the plugin's name in flags and in files of configuration.
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
	signer := bundle.Spec.SignerName // an update can't change it: validation precedes this plugin
	if signer == "" || keepsContent(a, bundle) {
		return nil
	}
	if !p.Authorized(ctx, a.GetUserInfo(), "attest", signer) {
		return admission.NewForbidden(a, fmt.Errorf("user not permitted to attest for signerName %q", signer))
	}
	return nil
}

// keepsContent reports whether the request is an update that changes at most the owner references, the finalizers and
// the managed fields. The garbage collector and storage migrations make such updates.
func keepsContent(a admission.Attributes, bundle *certificatesv1.ClusterTrustBundle) bool {
	old, ok := a.GetOldObject().(*certificatesv1.ClusterTrustBundle)
	if !ok || a.GetOperation() != admission.Update {
		return false
	}
	now := bundle.DeepCopy()
	now.OwnerReferences, now.Finalizers, now.ManagedFields = old.OwnerReferences, old.Finalizers, old.ManagedFields
	return equality.Semantic.DeepEqual(now, old)
}
