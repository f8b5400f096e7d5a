package certificateapproval

import (
	"context"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	request := func(signer string) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer}}
	}
	allowed := func(name string) authorizer.Authorizer {
		return authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetVerb() == "approve" && a.GetResource() == "signers" && a.GetAPIGroup() == "certificates.k8s.io" && a.GetName() == name {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		})
	}
	const refused = `user not permitted to approve requests with signerName "a.example/x"`
	tests := []struct {
		name, reason, allowed, subresource, refusal string
		to                                          string
	}{
		{name: "signer", reason: "the user may approve requests for the signer", allowed: "a.example/x",
			subresource: "approval", to: "a.example/x"},
		{name: "domain", reason: "the user may approve requests for all signers of the domain", allowed: "a.example/*",
			subresource: "approval", to: "a.example/x"},
		{name: "other signer", reason: "the permission is for another signer", allowed: "a.example/y",
			subresource: "approval", to: "a.example/x", refusal: refused},
		{name: "renamed", reason: "the stored signer counts", allowed: "a.example/y", subresource: "approval",
			to: "a.example/y", refusal: refused},
		{name: "other endpoint", reason: "requests to other subresources approve nothing", allowed: "", to: "a.example/x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, allowed(test.allowed))
			plugintest.Run(t, p, plugintest.Update(request("a.example/x"), request(test.to)).Of(test.subresource), test.refusal)
		})
	}
}
