package validation

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/mail"
	"slices"
	"strings"
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
	// maxCertificateChain bounds a chain, in bytes.
	maxCertificateChain = 100 * 1024
)

// PodCertificateRequestStatusUpdate checks what a signer answers: that it refuses, or has failed, or
// a certificate for the key of the request. Once it is given it stays.
func PodCertificateRequestStatusUpdate(o, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	if f := Updated(&o.ObjectMeta, &old.ObjectMeta); len(f.Errs) > 0 {
		return f.Errs
	}
	path := field.NewPath("status")
	if errs := podRequestConditions(path.Child("conditions"), o.Status.Conditions); len(errs) > 0 {
		return errs
	}
	answer := podRequestAnswer(&o.Status)
	want, otherwise := old.Status, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`
	switch {
	case podRequestAnswer(&old.Status) != "":
		otherwise = "immutable after PodCertificateRequest is issued, denied, or failed"
	case answer == certificatesv1beta1.PodCertificateRequestConditionTypeIssued:
		return issuedCertificate(path, o)
	case answer != "":
		want = certificatesv1beta1.PodCertificateRequestStatus{Conditions: o.Status.Conditions}
		otherwise = "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
	}
	if apiequality.Semantic.DeepEqual(o.Status, want) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, field.OmitValueType{}, otherwise)}
}

// podRequestAnswers are the types of conditions, each of which is an answer.
var podRequestAnswers = []string{
	certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
	certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
	certificatesv1beta1.PodCertificateRequestConditionTypeFailed,
}

// podRequestAnswer is the answer that a request has been given, or "".
func podRequestAnswer(s *certificatesv1beta1.PodCertificateRequestStatus) string {
	for _, c := range s.Conditions {
		if slices.Contains(podRequestAnswers, c.Type) && c.Status == metav1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

func podRequestConditions(path *field.Path, conditions []metav1.Condition) field.ErrorList {
	var f Findings
	answers := 0
	for i, c := range conditions {
		condition := path.Child(fmt.Sprintf("[%d]", i)) // with a dot before the bracket, as in the reference
		if !slices.Contains(podRequestAnswers, c.Type) {
			f.Add(field.NotSupported(condition.Child("type"), c.Type, podRequestAnswers))
			continue
		}
		answers++
		f.AddIf(answers > 1, field.Invalid(condition.Child("type"), c.Type, `There may be at most one condition with type "Issued", "Denied", or "Failed"`))
		f.AddIf(c.Status != metav1.ConditionTrue, field.NotSupported(condition.Child("status"), c.Status, []metav1.ConditionStatus{metav1.ConditionTrue}))
	}
	f.Merge(metav1validation.ValidateConditions(conditions, path))
	return f.Errs
}

// issuedCertificate checks a chain of certificates, and the times that the status gives for its first one. The first
// error is told: what follows may be a consequence.
func issuedCertificate(path *field.Path, o *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	s, chain := &o.Status, path.Child("certificateChain")
	if len(s.CertificateChain) > maxCertificateChain {
		return field.ErrorList{field.TooLong(chain, "", maxCertificateChain)}
	}
	leaf, rest, err := leafCertificate(chain, s.CertificateChain)
	if err != nil {
		return field.ErrorList{err}
	}
	f := Findings{leafNames(chain, leaf)}
	if key, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(requestedKey(&o.Spec)) {
		f.Add(field.Invalid(chain, s.CertificateChain, "leaf certificate was not issued to the requested public key"))
		return f.Errs
	}
	notBefore, refresh, notAfter := path.Child("notBefore"), path.Child("beginRefreshAt"), path.Child("notAfter")
	f.AddIf(s.NotBefore == nil, field.Required(notBefore, "must be present and consistent with the issued certificate"))
	f.AddIf(s.NotAfter == nil, field.Required(notAfter, "must be present and consistent with the issued certificate"))
	f.AddIf(s.BeginRefreshAt == nil, field.Required(refresh, "must be present and in the range [notbefore+10min, notafter-10min]"))
	if len(f.Errs) > 0 {
		return f.Errs
	}
	lifetime, most := leaf.NotAfter.Sub(leaf.NotBefore), ptr.Deref(o.Spec.MaxExpirationSeconds, 0)
	switch {
	case !s.NotBefore.Time.Equal(leaf.NotBefore):
		f.Add(field.Invalid(notBefore, s.NotBefore.Time, "must be set to the NotBefore time encoded in the leaf certificate"))
	case time.Since(s.NotBefore.Time).Abs() >= clockSkew:
		f.Add(field.Invalid(notBefore, s.NotBefore.Time, "must be set to within 5 minutes of kube-apiserver's current time"))
	case !s.NotAfter.Time.Equal(leaf.NotAfter):
		f.Add(field.Invalid(notAfter, s.NotAfter.Time, "must be set to the NotAfter time encoded in the leaf certificate"))
	case lifetime < time.Hour:
		f.Add(field.Invalid(chain, lifetime, "leaf certificate lifetime must be >= 1 hour"))
	case lifetime > time.Duration(most)*time.Second:
		f.Add(field.Invalid(chain, lifetime, fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%d)", most)))
	case s.BeginRefreshAt.Time.Before(s.NotBefore.Add(refreshMargin)):
		f.Add(field.Invalid(refresh, s.BeginRefreshAt.Time, "must be at least 10 minutes after status.notBefore"))
	case s.BeginRefreshAt.Time.After(s.NotAfter.Add(-refreshMargin)):
		f.Add(field.Invalid(refresh, s.BeginRefreshAt.Time, "must be at least 10 minutes before status.notAfter"))
	default:
		f.Merge(intermediates(chain, s.CertificateChain, rest))
	}
	return f.Errs
}

const certificateBlock = "CERTIFICATE"

// leafCertificate returns the first certificate of a chain, and what follows it.
func leafCertificate(path *field.Path, chain string) (*x509.Certificate, []byte, *field.Error) {
	block, rest := pem.Decode([]byte(chain))
	switch {
	case block == nil:
		return nil, nil, field.Invalid(path, chain, "issued certificate chain must contain at least one certificate")
	case block.Type != certificateBlock:
		return nil, nil, field.Invalid(path, chain, "issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, field.Invalid(path, chain, "leaf certificate does not parse as valid X.509")
	}
	return leaf, rest, nil
}

// leafNames checks names that parsers don't agree about.
func leafNames(path *field.Path, leaf *x509.Certificate) field.ErrorList {
	var f Findings
	for _, name := range leaf.DNSNames {
		f.AddIf(name == "", field.Invalid(path, name, "leaf certificate should not contain empty DNSName"))
		f.AddIf(strings.Contains(name, ".."), field.Invalid(path, name, "leaf certificate's DNSName should not contain '..'"))
		f.AddIf(strings.HasPrefix(name, ".") || strings.HasSuffix(name, "."), field.Invalid(path, name, "leaf certificate's DNSName should not start or end with '.'"))
	}
	for _, address := range leaf.EmailAddresses {
		_, err := mail.ParseAddress(address)
		f.AddIf(err != nil, field.Invalid(path, address, "leaf certificate should not contain invalid EmailAddress"))
	}
	return f.Errs
}

// intermediates checks the certificates after the first one. Whether they are a chain depends on what
// trusts them.
func intermediates(path *field.Path, chain string, rest []byte) field.ErrorList {
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil
		}
		if block.Type != certificateBlock {
			return field.ErrorList{field.Invalid(path, chain, "issued certificate chain must consist entirely of CERTFICATE PEM blocks")}
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return field.ErrorList{field.Invalid(path, chain, "intermediate certificate does not parse as valid X.509")}
		}
	}
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
