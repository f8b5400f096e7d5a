package integration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A user who writes a trust bundle for a signer needs permission to attest for that signer. Clients can list the trust
// bundles of a signer.
func TestClusterTrustBundles(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	anchors := string(must(newAuthority())(t).pem)
	write := func(user, name, signer string) error {
		_, err := clientOf(t, srv, user).CertificatesV1().ClusterTrustBundles().Create(t.Context(), &certificatesv1.ClusterTrustBundle{
			ObjectMeta: named(name), Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: anchors},
		}, metav1.CreateOptions{})
		return err
	}
	create := rbacRule("certificates.k8s.io", "create", "clustertrustbundles")
	grant(t, srv, "attester", create, actsFor("example.com/*", "attest"))
	grant(t, srv, "signer", create, actsFor("example.com/*", "sign"))

	ok(t, write("attester", "example.com:a:1", "example.com/a"))
	ok(t, write("signer", "of-nobody", ""))
	err := write("signer", "example.com:a:2", "example.com/a")
	if want := `user not permitted to attest for signerName "example.com/a"`; !strings.Contains(statusOf(err).Message, want) {
		t.Errorf("want %q, got %v", want, err)
	}

	found := must(srv.Client().CertificatesV1().ClusterTrustBundles().List(t.Context(), metav1.ListOptions{FieldSelector: "spec.signerName=example.com/a"}))(t)
	if len(found.Items) != 1 || found.Items[0].Name != "example.com:a:1" {
		t.Errorf("want the signer's bundle, got %v", found.Items)
	}
}

// A PodCertificateRequest gets one answer: a certificate for its key, from a user with permission to sign for its
// signer. A request in v1beta1 has a field for the key that v1 doesn't have. The server stores the field, even if a
// webhook for v1 changes the request.
func TestPodCertificateRequests(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithAPIs("certificates.k8s.io/v1beta1"))
	const signer = "example.com/signer"
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	digest := sha256.Sum256([]byte("uid-p"))
	old := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: named("old"), Spec: certificatesv1beta1.PodCertificateRequestSpec{
		SignerName: signer, PodName: "p", PodUID: "uid-p", ServiceAccountName: "default", ServiceAccountUID: "uid-a",
		NodeName: "n", NodeUID: "uid-n",
		PKIXPublicKey:     must(x509.MarshalPKIXPublicKey(key.Public()))(t),
		ProofOfPossession: must(ecdsa.SignASN1(rand.Reader, key, digest[:]))(t),
	}}
	install(t, srv, mutating("v1", patch(miniapitest.Add("/metadata/labels", map[string]string{"seen": "v1"})), matchPolicy(equivalent),
		on("CREATE", "certificates.k8s.io/v1", "podcertificaterequests")))
	created := must(srv.Client().CertificatesV1beta1().PodCertificateRequests("default").Create(t.Context(), old, metav1.CreateOptions{}))(t)
	if created.Labels["seen"] != "v1" || len(created.Spec.PKIXPublicKey) == 0 || len(created.Spec.ProofOfPossession) == 0 {
		t.Errorf("want the webhook's label and the client's key, got %v and %v", created.Labels, created.Spec)
	}
	request := must(srv.Client().CertificatesV1().PodCertificateRequests("default").Create(t.Context(), &certificatesv1.PodCertificateRequest{
		ObjectMeta: named("new"), Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: signer, PodName: "p", PodUID: "uid-p", ServiceAccountName: "default",
			ServiceAccountUID: "uid-a", NodeName: "other", NodeUID: "uid-o",
			StubPKCS10Request: must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key))(t),
		},
	}, metav1.CreateOptions{}))(t)
	if seconds := request.Spec.MaxExpirationSeconds; seconds == nil || *seconds != 86400 {
		t.Errorf("want a day, got %v", seconds)
	}

	begin := time.Now().Truncate(time.Second)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: begin, NotAfter: begin.Add(time.Hour)}
	own := must(newAuthority())(t)
	der := must(x509.CreateCertificate(rand.Reader, template, own.certificate, key.Public(), own.key))(t)
	status := certificatesv1.PodCertificateRequestStatus{
		Conditions:       []metav1.Condition{{Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()}},
		CertificateChain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		NotBefore:        &metav1.Time{Time: begin}, BeginRefreshAt: &metav1.Time{Time: begin.Add(30 * time.Minute)},
		NotAfter: &metav1.Time{Time: begin.Add(time.Hour)},
	}
	access := rbacRule("certificates.k8s.io", "*", "podcertificaterequests", "podcertificaterequests/status")
	grant(t, srv, "signer", access, actsFor(signer, "sign"))
	grant(t, srv, "attester", access, actsFor(signer, "attest"))
	sign := func(user, name string) error {
		requests := clientOf(t, srv, user).CertificatesV1().PodCertificateRequests("default")
		request := must(requests.Get(t.Context(), name, metav1.GetOptions{}))(t)
		request.Status = status
		_, err := requests.UpdateStatus(t.Context(), request, metav1.UpdateOptions{})
		return err
	}
	for _, name := range []string{"old", "new"} {
		if err := sign("attester", name); !strings.Contains(statusOf(err).Message, `User "attester" is not permitted to "sign" for signer "example.com/signer"`) {
			t.Errorf("%s: want a user without the permission to sign to be refused, got %v", name, err)
		}
		ok(t, sign("signer", name))
	}
	status.Conditions = nil
	if err := sign("signer", "new"); !strings.Contains(statusOf(err).Message, "immutable after PodCertificateRequest is issued") {
		t.Errorf("want the answer to stay, got %v", err)
	}

	onNode := must(srv.Client().CertificatesV1beta1().PodCertificateRequests("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=n,spec.podName=p"}))(t)
	if len(onNode.Items) != 1 || len(onNode.Items[0].Spec.PKIXPublicKey) == 0 || onNode.Items[0].Status.CertificateChain == "" {
		t.Errorf("want the old request with its key and its certificate, got %v", onNode.Items)
	}
}
