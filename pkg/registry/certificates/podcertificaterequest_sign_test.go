package certificates

import (
	"context"
	"testing"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// TestMaySign checks that an update needs the permission to sign only if it sets the signer's answer.
func TestMaySign(t *testing.T) {
	t.Parallel()
	request := func(reason string) *certificatesv1beta1.PodCertificateRequest {
		r := &certificatesv1beta1.PodCertificateRequest{Spec: certificatesv1beta1.PodCertificateRequestSpec{SignerName: "example.com/signer"}}
		if reason != "" {
			r.Status.Conditions = []metav1.Condition{{Type: "Denied", Status: metav1.ConditionTrue, Reason: reason}}
		}
		return r
	}
	deps := registry.Dependencies{Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetUser().GetName() == "signer" && a.GetVerb() == "sign" && a.GetName() == "example.com/*" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})}
	for _, test := range []struct {
		name, reason, by string
		answer           string
		refused          bool
	}{
		{name: "signer", reason: "the user may sign for the signer", by: "signer", answer: "Test"},
		{name: "another user", reason: "pods would trust the answer of any user", by: "jane", answer: "Test", refused: true},
		{name: "no answer", reason: "the update signs nothing", by: "jane"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: test.by})
			if errs := maySign(ctx, deps, request(test.answer), request("")); (len(errs) > 0) != test.refused {
				t.Errorf("%s: refused: want %t, got %v", test.reason, test.refused, errs)
			}
		})
	}
}
