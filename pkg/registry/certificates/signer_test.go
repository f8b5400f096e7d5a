package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
)

func TestSignerName(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	node := pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}
	for _, c := range []struct {
		name, reason string
		subject      pkix.Name
		hosts        []string
		usages       []certificatesv1beta1.KeyUsage
		want         string
	}{
		{
			name: "a kubelet as a client", reason: "a client certificate has no addresses",
			subject: node, usages: []certificatesv1beta1.KeyUsage{"digital signature", "client auth"},
			want: "kubernetes.io/kube-apiserver-client-kubelet",
		},
		{
			name: "a kubelet as a server", reason: "a server certificate has addresses",
			subject: node, hosts: []string{"n1"},
			usages: []certificatesv1beta1.KeyUsage{"digital signature", "key encipherment", "server auth"},
			want:   "kubernetes.io/kubelet-serving",
		},
		{
			name: "a kubelet as both", reason: "no signer issues certificates for both usages",
			subject: node, usages: []certificatesv1beta1.KeyUsage{"digital signature", "client auth", "server auth"},
			want: "kubernetes.io/legacy-unknown",
		},
		{
			name: "user", reason: "the identity is not the identity of a node",
			subject: pkix.Name{CommonName: "jane"}, usages: []certificatesv1beta1.KeyUsage{"digital signature", "client auth"},
			want: "kubernetes.io/legacy-unknown",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: c.subject, DNSNames: c.hosts}, key)
			if err != nil {
				t.Fatal(err)
			}
			csr := &certificatesv1beta1.CertificateSigningRequest{Spec: certificatesv1beta1.CertificateSigningRequestSpec{
				Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
				Usages:  c.usages,
			}}
			defaultCertificateSigningRequestV1beta1(csr)
			if got := *csr.Spec.SignerName; got != c.want {
				t.Errorf("signerName is %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}
