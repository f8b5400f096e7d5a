package validation

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

const (
	// clockSkew is how far a signer's clock may be from this server's.
	clockSkew = 5 * time.Minute
	// refreshMargin is what lies at least between a certificate's ends and its refresh.
	refreshMargin = 10 * time.Minute
)

// PodCertificateRequestStatusUpdate checks what a signer answers: that it refuses, or has failed, or
// a certificate for the key of the request. Once it is given it stays.
func PodCertificateRequestStatusUpdate(o, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	if podRequestAnswer(&old.Status) != "" {
		f.addIf(!apiequality.Semantic.DeepEqual(o.Status, old.Status), field.Invalid(path, field.OmitValueType{},
			`immutable after PodCertificateRequest is issued, denied, or failed`))
		return f.errs
	}
	f.merge(podRequestConditions(path.Child("conditions"), o.Status.Conditions))
	if len(f.errs) > 0 {
		return f.errs
	}
	if podRequestAnswer(&o.Status) == certificatesv1beta1.PodCertificateRequestConditionTypeIssued {
		f.merge(issuedCertificate(path, o))
		return f.errs
	}
	const alone = `may only be set together with a condition of type "Issued"`
	f.addIf(o.Status.CertificateChain != "", field.Forbidden(path.Child("certificateChain"), alone))
	f.addIf(o.Status.NotBefore != nil, field.Forbidden(path.Child("notBefore"), alone))
	f.addIf(o.Status.BeginRefreshAt != nil, field.Forbidden(path.Child("beginRefreshAt"), alone))
	f.addIf(o.Status.NotAfter != nil, field.Forbidden(path.Child("notAfter"), alone))
	return f.errs
}

// podRequestAnswers are the types of conditions, each of which is an answer.
var podRequestAnswers = []string{
	certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
	certificatesv1beta1.PodCertificateRequestConditionTypeFailed,
	certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
}

// podRequestAnswer is the answer that a request has been given, or "".
func podRequestAnswer(s *certificatesv1beta1.PodCertificateRequestStatus) string {
	for _, c := range s.Conditions {
		if len(oneOf(nil, c.Type, podRequestAnswers...)) == 0 {
			return c.Type
		}
	}
	return ""
}

func podRequestConditions(path *field.Path, conditions []metav1.Condition) field.ErrorList {
	f := findings{metav1validation.ValidateConditions(conditions, path)}
	for i, c := range conditions {
		f.merge(oneOf(path.Index(i).Child("type"), c.Type, podRequestAnswers...))
		f.addIf(c.Status != metav1.ConditionTrue && c.Status != "",
			field.NotSupported(path.Index(i).Child("status"), c.Status, []metav1.ConditionStatus{metav1.ConditionTrue}))
	}
	f.addIf(len(conditions) > 1, field.Invalid(path, field.OmitValueType{},
		`There may be at most one condition with type "Issued", "Denied", or "Failed"`))
	return f.errs
}

// issuedCertificate checks a chain of certificates, and the times that are said of its first.
func issuedCertificate(path *field.Path, o *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	chain := path.Child("certificateChain")
	leaf, errs := certificateChain(chain, o.Status.CertificateChain)
	if len(errs) > 0 {
		return errs
	}
	var f findings
	invalid := func(path *field.Path, message string) { f.add(field.Invalid(path, field.OmitValueType{}, message)) }
	if key, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(requestedKey(&o.Spec)) {
		invalid(chain, "leaf certificate was not issued to the requested public key")
		return f.errs
	}
	const hour = time.Hour
	lifetime, most := leaf.NotAfter.Sub(leaf.NotBefore), time.Duration(ptr.Deref(o.Spec.MaxExpirationSeconds, 0))*time.Second
	switch {
	case lifetime < hour:
		invalid(chain, "leaf certificate lifetime must be >= 1 hour")
	case lifetime > most:
		invalid(chain, fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%v)", most))
	}
	s := &o.Status
	notBefore, refresh, notAfter := path.Child("notBefore"), path.Child("beginRefreshAt"), path.Child("notAfter")
	switch skew := time.Since(leaf.NotBefore); {
	case s.NotBefore == nil:
		f.add(field.Required(notBefore, "must be present and consistent with the issued certificate"))
	case !s.NotBefore.Time.Equal(leaf.NotBefore):
		invalid(notBefore, "must be set to the NotBefore time encoded in the leaf certificate")
	case skew.Abs() > clockSkew:
		invalid(notBefore, "must be set to within 5 minutes of kube-apiserver's current time")
	}
	switch {
	case s.NotAfter == nil:
		f.add(field.Required(notAfter, "must be present and consistent with the issued certificate"))
	case !s.NotAfter.Time.Equal(leaf.NotAfter):
		invalid(notAfter, "must be set to the NotAfter time encoded in the leaf certificate")
	}
	switch {
	case s.BeginRefreshAt == nil:
		f.add(field.Required(refresh, "must be present and in the range [notbefore+10min, notafter-10min]"))
	case s.BeginRefreshAt.Time.Before(leaf.NotBefore.Add(refreshMargin)):
		invalid(refresh, "must be at least 10 minutes after status.notBefore")
	case s.BeginRefreshAt.Time.After(leaf.NotAfter.Add(-refreshMargin)):
		invalid(refresh, "must be at least 10 minutes before status.notAfter")
	}
	return f.errs
}

// certificateChain returns the first certificate of a chain.
func certificateChain(path *field.Path, chain string) (*x509.Certificate, field.ErrorList) {
	if chain == "" {
		return nil, field.ErrorList{field.Required(path, "must contain at least one certificate")}
	}
	invalid := func(message string) (*x509.Certificate, field.ErrorList) {
		return nil, field.ErrorList{field.Invalid(path, field.OmitValueType{}, message)}
	}
	var leaf *x509.Certificate
	rest := []byte(chain)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		which := "intermediate certificate"
		if leaf == nil {
			which = "leaf certificate"
		}
		if block.Type != "CERTIFICATE" {
			return invalid(which + " PEM block must have type CERTIFICATE")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return invalid(which + " does not parse as valid X.509")
		}
		if leaf == nil {
			leaf = certificate
		}
	}
	if leaf == nil {
		return invalid("issued certificate chain must contain at least one PEM block")
	}
	return leaf, nil
}

// requestedKey is the key of a valid request.
func requestedKey(s *certificatesv1beta1.PodCertificateRequestSpec) crypto.PublicKey {
	if request, err := x509.ParseCertificateRequest(s.StubPKCS10Request); err == nil {
		return request.PublicKey
	}
	key, err := x509.ParsePKIXPublicKey(s.PKIXPublicKey)
	if err != nil {
		return nil
	}
	return key
}
