package defaults

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// CertificatesV1beta1CertificateSigningRequest sets the defaults of a
// certificates.k8s.io/v1beta1 CertificateSigningRequest. The signer is one of the
// kubelet's when the request has the form of a kubelet's.
func CertificatesV1beta1CertificateSigningRequest(r *certificatesv1beta1.CertificateSigningRequest) {
	if r.Spec.Usages == nil {
		r.Spec.Usages = []certificatesv1beta1.KeyUsage{
			certificatesv1beta1.UsageDigitalSignature,
			certificatesv1beta1.UsageKeyEncipherment,
		}
	}
	if r.Spec.SignerName == nil {
		Pointer(&r.Spec.SignerName, signerName(r.Spec.Request, r.Spec.Usages))
	}
	for i := range r.Status.Conditions {
		Zero(&r.Status.Conditions[i].Status, corev1.ConditionTrue)
	}
}

// CertificatesV1beta1PodCertificateRequest sets the defaults of a
// certificates.k8s.io/v1beta1 PodCertificateRequest.
func CertificatesV1beta1PodCertificateRequest(r *certificatesv1beta1.PodCertificateRequest) {
	Pointer(&r.Spec.MaxExpirationSeconds, podCertificateSeconds)
}

func signerName(request []byte, usages []certificatesv1beta1.KeyUsage) string {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return certificatesv1beta1.LegacyUnknownSignerName
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || !isNode(csr) {
		return certificatesv1beta1.LegacyUnknownSignerName
	}
	addresses := len(csr.DNSNames) + len(csr.IPAddresses)
	switch {
	case addresses == 0 && areUsages(usages, certificatesv1beta1.UsageClientAuth):
		return certificatesv1beta1.KubeAPIServerClientKubeletSignerName
	case addresses > 0 && areUsages(usages, certificatesv1beta1.UsageServerAuth):
		return certificatesv1beta1.KubeletServingSignerName
	default:
		return certificatesv1beta1.LegacyUnknownSignerName
	}
}

// isNode says whether a request is for the identity of a node, and for no other.
func isNode(csr *x509.CertificateRequest) bool {
	return slices.Equal(csr.Subject.Organization, []string{"system:nodes"}) &&
		strings.HasPrefix(csr.Subject.CommonName, "system:node:") &&
		len(csr.EmailAddresses) == 0 && len(csr.URIs) == 0
}

// areUsages says whether usages are the given one and those of every TLS key; an
// elliptic one isn't used for key encipherment.
func areUsages(usages []certificatesv1beta1.KeyUsage, auth certificatesv1beta1.KeyUsage) bool {
	wanted := map[certificatesv1beta1.KeyUsage]bool{
		auth: true,
		certificatesv1beta1.UsageDigitalSignature: true,
		certificatesv1beta1.UsageKeyEncipherment:  true,
	}
	for _, u := range usages {
		if !wanted[u] {
			return false
		}
	}
	return slices.Contains(usages, auth) && slices.Contains(usages, certificatesv1beta1.UsageDigitalSignature)
}
