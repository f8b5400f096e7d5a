package printers

import (
	"cmp"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// CertificateSigningRequest is shown by who asks whom, and how far it is.
var CertificateSigningRequest = Of(
	[]Column{
		NameColumn,
		AgeColumn,
		Text("SignerName", Doc(certificatesv1.CertificateSigningRequestSpec{}, "signerName")),
		Text("Requestor", Doc(certificatesv1.CertificateSigningRequestSpec{}, "request")),
		Text("RequestedDuration", Doc(certificatesv1.CertificateSigningRequestSpec{}, "expirationSeconds")),
		Text("Condition", Doc(certificatesv1.CertificateSigningRequestStatus{}, "conditions")),
	},
	func(r *certificatesv1.CertificateSigningRequest) []any {
		requested := None
		if s := r.Spec.ExpirationSeconds; s != nil {
			requested = duration.HumanDuration(time.Duration(*s) * time.Second)
		}
		return []any{
			r.Name, Since(r.CreationTimestamp), cmp.Or(r.Spec.SignerName, None), r.Spec.Username, requested, requestStatus(r),
		}
	})

// requestStatus is the decision, and what came of it.
func requestStatus(r *certificatesv1.CertificateSigningRequest) string {
	has := map[certificatesv1.RequestConditionType]bool{}
	for _, condition := range r.Status.Conditions {
		has[condition.Type] = true
	}
	status := "Pending"
	switch {
	case has[certificatesv1.CertificateDenied]:
		status = "Denied"
	case has[certificatesv1.CertificateApproved]:
		status = "Approved"
	}
	if has[certificatesv1.CertificateFailed] {
		status += ",Failed"
	}
	if len(r.Status.Certificate) > 0 {
		status += ",Issued"
	}
	return status
}

// ClusterTrustBundle is shown by its signer.
var ClusterTrustBundle = Of(
	[]Column{NameColumn, Text("SignerName", Doc(certificatesv1.ClusterTrustBundleSpec{}, "signerName"))},
	func(b *certificatesv1.ClusterTrustBundle) []any {
		return []any{b.Name, cmp.Or(b.Spec.SignerName, None)}
	})

// PodCertificateRequest is shown by whom it is for, and what came of it.
var PodCertificateRequest = Of(
	[]Column{
		NameColumn,
		Text("PodName", Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "podName")),
		Text("ServiceAccountName", Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "serviceAccountName")),
		Text("NodeName", Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "nodeName")),
		Text("SignerName", Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "signerName")),
		Text("State", "Is the request Pending, Issued, Denied, or Failed?"),
		Text("UnverifiedUserAnnotations", Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "unverifiedUserAnnotations")),
	},
	func(r *certificatesv1beta1.PodCertificateRequest) []any {
		state := "Pending"
		for _, c := range r.Status.Conditions {
			switch c.Type {
			case certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
				certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
				certificatesv1beta1.PodCertificateRequestConditionTypeFailed:
				state = c.Type
			}
		}
		return []any{r.Name, r.Spec.PodName, r.Spec.ServiceAccountName, string(r.Spec.NodeName), r.Spec.SignerName, state,
			labels.FormatLabels(r.Spec.UnverifiedUserAnnotations)}
	})
