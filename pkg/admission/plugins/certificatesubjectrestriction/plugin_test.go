package certificatesubjectrestriction

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := func(group string) []byte {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "u", Organization: []string{"a", group}}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	tests := []struct {
		name, reason, signer, refusal string
		request                       []byte
	}{
		{name: "masters", reason: "members of the group may do everything",
			signer: certificatesv1.KubeAPIServerClientSignerName, request: request("system:masters"),
			refusal: "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		{name: "other group", reason: "the plugin restricts only system:masters",
			signer: certificatesv1.KubeAPIServerClientSignerName, request: request("b")},
		{name: "other signer", reason: "certificates of another signer don't authenticate clients of the server",
			signer: "a.example/x", request: request("system:masters")},
		{name: "no request", reason: "the plugin can't check a request that it can't parse",
			signer: certificatesv1.KubeAPIServerClientSignerName, request: []byte("?"),
			refusal: "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: test.signer, Request: test.request}}
			plugintest.Run(t, New(), plugintest.Create(csr), test.refusal)
		})
	}
}
