package clustertrustbundleattest

import (
	"context"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	bundle := func(signer string) *certificatesv1.ClusterTrustBundle {
		return &certificatesv1.ClusterTrustBundle{Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer}}
	}
	mayAttest := func(signer string) authorizer.Authorizer {
		return authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetVerb() == "attest" && a.GetResource() == "signers" && a.GetName() == signer {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		})
	}
	replaced, owned := bundle("a.example/x"), bundle("a.example/x")
	replaced.Spec.TrustBundle = "other"
	owned.OwnerReferences, owned.Finalizers = []metav1.OwnerReference{{UID: "u"}}, []string{"example.com/f"}
	owned.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	const refused = `user not permitted to attest for signerName "a.example/x"`
	for _, test := range []struct {
		name, reason, allowed, refusal string
		request                        plugintest.Request
	}{
		{name: "no signer", reason: "the bundle has no signer", request: plugintest.Create(bundle(""))},
		{name: "own signer", reason: "allowed by name", allowed: "a.example/x", request: plugintest.Create(bundle("a.example/x"))},
		{name: "own domain", reason: "all signers of a domain may be meant", allowed: "a.example/*",
			request: plugintest.Create(bundle("a.example/x"))},
		{name: "another's signer", reason: "pods would trust the certificates as the signer's", allowed: "b.example/*",
			request: plugintest.Create(bundle("a.example/x")), refusal: refused},
		{name: "update", reason: "an update can replace the certificates of a bundle", allowed: "b.example/*",
			request: plugintest.Update(bundle("a.example/x"), replaced), refusal: refused},
		{name: "unchanged", reason: "a storage migration writes each bundle again", allowed: "b.example/*",
			request: plugintest.Update(bundle("a.example/x"), bundle("a.example/x"))},
		{name: "owner", reason: "the garbage collector removes owners and finalizers", allowed: "b.example/*",
			request: plugintest.Update(owned, bundle("a.example/x"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, mayAttest(test.allowed))
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
