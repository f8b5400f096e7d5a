package certificatesigningrequests

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	nodesGroup = "system:nodes"
	nodePrefix = "system:node:"
)

// signers are Kubernetes' own signers, each with the rule for its requests. A rule returns the reason to refuse a
// request, in kube-controller-manager's words, or "".
var signers = map[string]func(*x509.CertificateRequest, sets.Set[certificatesv1.KeyUsage]) string{
	certificatesv1.KubeAPIServerClientKubeletSignerName: kubeletClient,
	certificatesv1.KubeletServingSignerName:             kubeletServing,
	certificatesv1.KubeAPIServerClientSignerName:        apiServerClient,
	certificatesv1beta1.LegacyUnknownSignerName:         func(*x509.CertificateRequest, sets.Set[certificatesv1.KeyUsage]) string { return "" },
}

// parse parses the certificate request of a CertificateSigningRequest. The data is in PEM.
func parse(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// kubeletClient is the rule for the client certificate of a kubelet. The certificate must have the name of a node's
// user, and no other names.
func kubeletClient(r *x509.CertificateRequest, usages sets.Set[certificatesv1.KeyUsage]) string {
	switch {
	case !slices.Equal(r.Subject.Organization, []string{nodesGroup}):
		return "subject organization is not system:nodes"
	case len(r.DNSNames) > 0:
		return "DNS subjectAltNames are not allowed"
	case len(r.EmailAddresses) > 0:
		return "Email subjectAltNames are not allowed"
	case len(r.IPAddresses) > 0:
		return "IP subjectAltNames are not allowed"
	case len(r.URIs) > 0:
		return "URI subjectAltNames are not allowed"
	case !strings.HasPrefix(r.Subject.CommonName, nodePrefix):
		return "subject common name does not begin with system:node:"
	}
	return exactly(usages, certificatesv1.UsageClientAuth)
}

// kubeletServing is the rule for the serving certificate of a kubelet.
func kubeletServing(r *x509.CertificateRequest, usages sets.Set[certificatesv1.KeyUsage]) string {
	switch {
	case !slices.Equal(r.Subject.Organization, []string{nodesGroup}):
		return "subject organization is not system:nodes"
	case len(r.DNSNames) == 0 && len(r.IPAddresses) == 0:
		return "DNS or IP subjectAltName is required"
	case len(r.EmailAddresses) > 0:
		return "Email subjectAltNames are not allowed"
	case len(r.URIs) > 0:
		return "URI subjectAltNames are not allowed"
	}
	if reason := exactly(usages, certificatesv1.UsageServerAuth); reason != "" {
		return reason
	}
	if !strings.HasPrefix(r.Subject.CommonName, nodePrefix) {
		return "subject common name does not begin with system:node:"
	}
	return ""
}

// exactly returns "" if the usages are "digital signature" and the purpose. Otherwise it returns the reason to
// refuse the request. The usage "key encipherment" is optional, because only an RSA key can have it.
func exactly(usages sets.Set[certificatesv1.KeyUsage], purpose certificatesv1.KeyUsage) string {
	required := sets.New(certificatesv1.UsageDigitalSignature, purpose)
	if usages.Equal(required) || usages.Equal(required.Clone().Insert(certificatesv1.UsageKeyEncipherment)) {
		return ""
	}
	return fmt.Sprintf("usages did not match %v", sets.List(required.Insert(certificatesv1.UsageKeyEncipherment)))
}

// apiServerClient is the rule of the signer kubernetes.io/kube-apiserver-client, for client certificates of any user.
func apiServerClient(_ *x509.CertificateRequest, usages sets.Set[certificatesv1.KeyUsage]) string {
	allowed := sets.New(certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth)
	for _, usage := range sets.List(usages.Difference(allowed)) {
		return fmt.Sprintf("invalid usage for client certificate: %s", usage)
	}
	if !usages.Has(certificatesv1.UsageClientAuth) {
		return fmt.Sprintf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return ""
}

// has reports whether a request has a condition of the type kind.
func has(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
}
