package integration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// signingRequest returns a request for a client certificate of a signer.
func signingRequest(t testing.TB, name, signer, user string, groups ...string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: groups}}, key))(t)
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: named(name), Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
	}}
}

// actsFor returns a rule that allows a verb (approve, sign or attest) for a signer.
func actsFor(signer, verb string) rbacv1.PolicyRule {
	rule := rbacRule("certificates.k8s.io", verb, "signers")
	rule.ResourceNames = []string{signer}
	return rule
}

// A user who approves or signs a certificate request needs permission for the request's signer. No request to the
// signer kubernetes.io/kube-apiserver-client can get a certificate of the group system:masters.
func TestPluginsOfCertificates(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const signer = "example.com/signer"
	admin := srv.Client().CertificatesV1().CertificateSigningRequests()
	approve := func(user string, request *certificatesv1.CertificateSigningRequest) error {
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
		})
		_, err := clientOf(t, srv, user).CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), request.Name, request, metav1.UpdateOptions{})
		return err
	}
	sign := func(user string, request *certificatesv1.CertificateSigningRequest) error {
		request.Status.Certificate = srv.Config().CAData
		_, err := clientOf(t, srv, user).CertificatesV1().CertificateSigningRequests().UpdateStatus(t.Context(), request, metav1.UpdateOptions{})
		return err
	}
	update := func(subresource string) rbacv1.PolicyRule {
		return rbacRule("certificates.k8s.io", "update", "certificatesigningrequests/"+subresource)
	}
	for _, test := range []struct {
		name, reason string
		user         string
		may          []rbacv1.PolicyRule
		do           func(string, *certificatesv1.CertificateSigningRequest) error
		refused      string
	}{{
		name: "approved-by-others", reason: "approving needs the verb approve on the signer", user: "other-approver",
		may: []rbacv1.PolicyRule{update("approval"), actsFor("example.com/other", "approve")}, do: approve,
		refused: `user not permitted to approve requests with signerName "example.com/signer"`,
	}, {
		name: "approved", reason: "the user has the permission to approve requests for the signer", user: "approver",
		may: []rbacv1.PolicyRule{update("approval"), actsFor(signer, "approve")}, do: approve,
	}, {
		name: "signed-by-others", reason: "signing needs the verb sign on the signer", user: "other-signer",
		may: []rbacv1.PolicyRule{update("status"), actsFor(signer, "approve")}, do: sign,
		refused: `user not permitted to sign requests with signerName "example.com/signer"`,
	}, {
		name: "signed", reason: "all signers of a domain may be meant", user: "signer",
		may: []rbacv1.PolicyRule{update("status"), actsFor("example.com/*", "sign")}, do: sign,
	}} {
		grant(t, srv, test.user, test.may...)
		request := must(admin.Create(t.Context(), signingRequest(t, test.name, signer, "somebody"), metav1.CreateOptions{}))(t)
		err := test.do(test.user, request)
		if refused := err != nil; refused != (test.refused != "") || !strings.Contains(statusOf(err).Message, test.refused) {
			t.Errorf("%s: %s: want the refusal %q, got %v", test.name, test.reason, test.refused, err)
		}
	}

	const apiserver = certificatesv1.KubeAPIServerClientSignerName
	_, err := admin.Create(t.Context(), signingRequest(t, "masters", apiserver, "somebody", "system:masters"), metav1.CreateOptions{})
	const want = `use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed`
	if !strings.Contains(statusOf(err).Message, want) {
		t.Errorf("CertificateSubjectRestriction: want %q, got %v", want, err)
	}
	must(admin.Create(t.Context(), signingRequest(t, "others", apiserver, "somebody", "others"), metav1.CreateOptions{}))(t)
}
