package certificates

import (
	"github.com/miniapi-dev/miniapi/pkg/registry"

	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

func TestSigningRequestsOfEachVersion(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	table, err := registry.NewTable(Group)
	if err != nil {
		t.Fatal(err)
	}
	strategy := table.Strategy(table.Row(certificatesv1.Resource("certificatesigningrequests")), registry.Dependencies{})
	const legacy = "kubernetes.io/legacy-unknown"
	for _, test := range []struct {
		name, reason, version, signer string
		request                       []byte
		usages                        []certificatesv1.KeyUsage
		want                          []string
	}{{
		name: "v1 with the legacy signer", reason: "v1 requires a signer", version: "v1", signer: legacy,
		request: data, usages: []certificatesv1.KeyUsage{"client auth", "client auth"},
		want: []string{"spec.usages[1]", "spec.signerName"},
	}, {
		name: "v1beta1 with the legacy signer", reason: "the legacy signer is the default in v1beta1", version: "v1beta1", signer: legacy,
		request: data, usages: []certificatesv1.KeyUsage{"client auth", "client auth", "another"},
	}, {
		name: "v1beta1 with nothing right", reason: "every version checks the other fields", version: "v1beta1", signer: "signer",
		want: []string{"spec.request", "spec.usages", "spec.signerName"},
	}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIGroup: "certificates.k8s.io", APIVersion: test.version})
			var got []string
			for _, err := range strategy.Validate(ctx, &certificatesv1.CertificateSigningRequest{
				ObjectMeta: metav1.ObjectMeta{Name: "r"},
				Spec:       certificatesv1.CertificateSigningRequestSpec{Request: test.request, SignerName: test.signer, Usages: test.usages},
			}) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
