package certificatesigning

import (
	"context"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	request := func(certificate string, conditions ...certificatesv1.CertificateSigningRequestCondition) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{
			Spec:   certificatesv1.CertificateSigningRequestSpec{SignerName: "a.example/x"},
			Status: certificatesv1.CertificateSigningRequestStatus{Certificate: []byte(certificate), Conditions: conditions},
		}
	}
	allowed := func(verb string) authorizer.Authorizer {
		return authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetVerb() == verb && a.GetName() == "a.example/x" {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		})
	}
	const refused = `user not permitted to sign requests with signerName "a.example/x"`
	failed := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateFailed}
	tests := []struct {
		name, reason, allowed, refusal string
		request                        plugintest.Request
	}{
		{name: "signed", reason: "the user may sign", allowed: "sign", request: plugintest.Update(request(""), request("c")).Of("status")},
		{name: "not allowed", reason: "the permission to approve isn't the permission to sign", allowed: "approve",
			request: plugintest.Update(request(""), request("c")).Of("status"), refusal: refused},
		{name: "failed", reason: "only a signer may mark a request as failed", allowed: "approve",
			request: plugintest.Update(request(""), request("", failed)).Of("status"), refusal: refused},
		{name: "unchanged", reason: "the request has its certificate already",
			request: plugintest.Update(request("c"), request("c")).Of("status")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, allowed(test.allowed))
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
