package certificates

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/signing"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podCertificateRequestKind is the row of podcertificaterequests in the server's table of kinds.
var podCertificateRequestKind = registry.Kind{
	Resource:   "podcertificaterequests",
	Namespaced: true,
	Feature:    "PodCertificateRequest",
	// The server handles objects as v1beta1, because v1 has fewer fields: in v1beta1, the key may be in a field of
	// its own, outside of the certificate request.
	Object: &certificatesv1beta1.PodCertificateRequest{}, List: &certificatesv1beta1.PodCertificateRequestList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultPodCertificateRequest),
		registry.DefaultOf(defaultPodCertificateRequestV1beta1),
	},
	Status:              true,
	StatusKeepsMetadata: true,
	ConditionalUpdate:   true,
	Printer:             &podCertificateRequestColumns,
	Hooks: registry.HooksOf[*certificatesv1beta1.PodCertificateRequest]{
		Validate:             validatePodCertificateRequest,
		ValidateUpdate:       validatePodCertificateRequestUpdate,
		ValidateStatusUpdate: validatePodCertificateRequestStatusUpdate,
		AuthorizeStatus:      maySign,
	},
	Fields: podCertificateRequestFields,
}

// podCertificateSeconds is the default of maxExpirationSeconds, which bounds the validity of a pod's certificate.
// It is one day.
const podCertificateSeconds int32 = 24 * 60 * 60

func defaultPodCertificateRequest(r *certificatesv1.PodCertificateRequest) {
	defaults.Pointer(&r.Spec.MaxExpirationSeconds, podCertificateSeconds)
}

func defaultPodCertificateRequestV1beta1(r *certificatesv1beta1.PodCertificateRequest) {
	defaults.Pointer(&r.Spec.MaxExpirationSeconds, podCertificateSeconds)
}

const (
	maxPublicKey         = 10 * 1024
	maxProofOfPossession = 10 * 1024
	maxStubRequest       = 10 * 1024
	maxObjectUID         = 128
)

// validatePodCertificateRequest checks a new request of a pod for a certificate (KEP-4317). It also checks that the
// author of the request has the private key.
func validatePodCertificateRequest(o *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	spec, s := field.NewPath("spec"), &o.Spec
	f.Merge(
		podvalidation.SignerName(spec.Child("signerName"), s.SignerName),
		podvalidation.UserAnnotations(spec.Child("unverifiedUserAnnotations"), s.UnverifiedUserAnnotations),
		validation.Follows(validation.ObjectName, spec.Child("podName"), s.PodName),
		objectUID(spec.Child("podUID"), s.PodUID),
		validation.Follows(validation.Named(apivalidation.ValidateServiceAccountName), spec.Child("serviceAccountName"), s.ServiceAccountName),
		objectUID(spec.Child("serviceAccountUID"), s.ServiceAccountUID),
		validation.Follows(validation.ObjectName, spec.Child("nodeName"), string(s.NodeName)),
		objectUID(spec.Child("nodeUID"), s.NodeUID),
		certificateSeconds(spec.Child("maxExpirationSeconds"), s))
	if s.MaxExpirationSeconds != nil { // nil only if the object was never decoded
		f.Merge(podKey(spec, s))
	}
	return f.Errs
}

// validatePodCertificateRequestUpdate checks an update of a request. The spec can't change.
func validatePodCertificateRequestUpdate(o, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.Unchanged(field.NewPath("spec"), o.Spec, old.Spec))
	return f.Errs
}

func objectUID(path *field.Path, uid types.UID) field.ErrorList {
	switch {
	case uid == "":
		return field.ErrorList{field.Invalid(path, uid, "must not be empty")}
	case len(uid) > maxObjectUID:
		return field.ErrorList{field.TooLong(path, uid, maxObjectUID)}
	}
	return nil
}

func certificateSeconds(path *field.Path, s *certificatesv1beta1.PodCertificateRequestSpec) field.ErrorList {
	if s.MaxExpirationSeconds == nil {
		return field.ErrorList{field.Required(path, "must be set")}
	}
	most := podvalidation.MaxCertificateSeconds(s.SignerName)
	if seconds := *s.MaxExpirationSeconds; seconds < podvalidation.MinCertificateSeconds || seconds > most {
		return field.ErrorList{field.Invalid(path, seconds, fmt.Sprintf("must be in the range [%d, %d]", podvalidation.MinCertificateSeconds, most))}
	}
	return nil
}

// podKey checks the public key, and that the author of the request has the private key. The public key is in a
// certificate request that is signed with the private key. In v1beta1, it may instead be in a field, next to a
// signature of the pod's UID.
func podKey(spec *field.Path, s *certificatesv1beta1.PodCertificateRequestSpec) field.ErrorList {
	switch stub, key, proof := len(s.StubPKCS10Request) > 0, len(s.PKIXPublicKey) > 0, len(s.ProofOfPossession) > 0; {
	case stub && !key && !proof:
		return stubRequest(spec.Child("stubPKCS10Request"), s.StubPKCS10Request)
	case !stub && key && proof:
		return provenKey(spec.Child("pkixPublicKey"), spec.Child("proofOfPossession"), s)
	}
	return field.ErrorList{field.Invalid(spec, field.OmitValueType{},
		"exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set")}
}

// provenKey checks a public key in a field, and the signature that proves the possession of its private key.
func provenKey(path, proof *field.Path, s *certificatesv1beta1.PodCertificateRequestSpec) field.ErrorList {
	switch {
	case len(s.PKIXPublicKey) > maxPublicKey:
		return field.ErrorList{field.TooLong(path, "", maxPublicKey)}
	case len(s.ProofOfPossession) > maxProofOfPossession:
		return field.ErrorList{field.TooLong(proof, "", maxProofOfPossession)}
	}
	key, err := x509.ParsePKIXPublicKey(s.PKIXPublicKey)
	if err != nil {
		return field.ErrorList{field.Invalid(path, s.PKIXPublicKey, "must be a valid PKIX-serialized public key")}
	}
	if errs := publicKey(path, key, "P256 or P384", s.PKIXPublicKey); len(errs) > 0 {
		return errs
	}
	if !signedBy(key, []byte(s.PodUID), s.ProofOfPossession) {
		return field.ErrorList{field.Invalid(proof, field.OmitValueType{}, "could not verify proof-of-possession signature")}
	}
	return nil
}

// stubRequest checks the public key and the signature of a certificate request. Other content of the request doesn't
// matter.
func stubRequest(path *field.Path, der []byte) field.ErrorList {
	if len(der) > maxStubRequest {
		return field.ErrorList{field.TooLong(path, "", maxStubRequest)}
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must be a valid PKCS#10 CSR")}
	}
	if errs := publicKey(path, request.PublicKey, "P256, P384, or P521", field.OmitValueType{}); len(errs) > 0 {
		return errs
	}
	if err := request.CheckSignature(); err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "invalid signature")}
	}
	return nil
}

// publicKey checks the type of a public key, and its curve or size. curves is the list of curves that the error
// about a wrong curve shows. value is the value that the error about an unknown type shows.
func publicKey(path *field.Path, key any, curves string, value any) field.ErrorList {
	switch key := key.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if !slices.Contains([]elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}, key.Curve) {
			return field.ErrorList{field.Invalid(path, "curve "+key.Params().Name, "elliptic public keys must use curve "+curves)}
		}
	case *rsa.PublicKey:
		if bits := key.Size() * 8; bits != 3072 && bits != 4096 {
			return field.ErrorList{field.Invalid(path, fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096")}
		}
	default:
		return field.ErrorList{field.Invalid(path, value, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")}
	}
	return nil
}

// signedBy reports whether a signature of the message was made with the private key of the public key. It accepts the
// signature schemes that the API documents for proofOfPossession.
func signedBy(key any, message, signature []byte) bool {
	digest := sha256.Sum256(message)
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, digest[:], signature)
	case *rsa.PublicKey:
		return rsa.VerifyPSS(key, crypto.SHA256, digest[:], signature, nil) == nil
	}
	return false
}

const (
	// clockSkew bounds the difference between the beginning of a certificate's validity and this server's clock.
	clockSkew = 5 * time.Minute
	// refreshMargin is the shortest accepted time from the beginning of a certificate's validity to its refresh, and
	// from its refresh to the end.
	refreshMargin = 10 * time.Minute
	// maxCertificateChain bounds the length of a certificate chain, in bytes.
	maxCertificateChain = 100 * 1024
)

// validatePodCertificateRequestStatusUpdate checks the answer of a signer in the status. The answer is a denial, a
// failure, or a certificate for the key of the request. An answer can't change.
func validatePodCertificateRequestStatusUpdate(o, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	if f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta); len(f.Errs) > 0 {
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

// podRequestAnswers are the types of the conditions by which a signer answers a request.
var podRequestAnswers = []string{
	certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
	certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
	certificatesv1beta1.PodCertificateRequestConditionTypeFailed,
}

// podRequestAnswer returns the type of the condition that answers a request, or "" if there is none.
func podRequestAnswer(s *certificatesv1beta1.PodCertificateRequestStatus) string {
	for _, c := range s.Conditions {
		if slices.Contains(podRequestAnswers, c.Type) && c.Status == metav1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

func podRequestConditions(path *field.Path, conditions []metav1.Condition) field.ErrorList {
	var f validation.Findings
	answers := 0
	for i, c := range conditions {
		condition := path.Child(fmt.Sprintf("[%d]", i)) // kube-apiserver's path has a dot before the bracket too
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

// issuedCertificate checks a certificate chain and the times in the status. notBefore and notAfter must be the times in
// the first certificate. Most steps run only if the steps before them succeed, because their errors may be
// consequences of earlier errors.
func issuedCertificate(path *field.Path, o *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	s, chain := &o.Status, path.Child("certificateChain")
	if len(s.CertificateChain) > maxCertificateChain {
		return field.ErrorList{field.TooLong(chain, "", maxCertificateChain)}
	}
	leaf, rest, err := leafCertificate(chain, s.CertificateChain)
	if err != nil {
		return field.ErrorList{err}
	}
	f := validation.Findings{Errs: leafNames(chain, leaf)}
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

// leafCertificate returns the first certificate of a chain, and the rest of the chain.
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

// leafNames refuses a certificate with malformed DNS names or email addresses, because different parsers may read
// them differently.
func leafNames(path *field.Path, leaf *x509.Certificate) field.ErrorList {
	var f validation.Findings
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

// intermediates checks the certificates after the first one. It doesn't verify the chain, because the result
// depends on the roots that a client trusts.
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

// requestedKey returns the public key of a request, or nil if the key is invalid.
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

// maySign refuses a change of the status, if the user has no permission to sign for the signer (KEP-4317).
func maySign(ctx context.Context, deps registry.Dependencies, r, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	if apiequality.Semantic.DeepEqual(r.Status, old.Status) {
		return nil
	}
	path, signer := field.NewPath("spec", "signerName"), old.Spec.SignerName
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("the request has no user"))}
	}
	if signing.Permitted(ctx, deps.Authorizer, user, "sign", signer) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", user.GetName(), signer))}
}

// podCertificateRequestColumns makes the rows of kubectl get. They show the pod, the signer and the state.
var podCertificateRequestColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("PodName", printers.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "podName")),
		printers.Text("ServiceAccountName", printers.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "serviceAccountName")),
		printers.Text("NodeName", printers.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "nodeName")),
		printers.Text("SignerName", printers.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "signerName")),
		printers.Text("State", "Is the request Pending, Issued, Denied, or Failed?"),
		printers.Text("UnverifiedUserAnnotations",
			printers.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "unverifiedUserAnnotations")),
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

var podCertificateRequestFields = registry.FieldsOf[*certificatesv1beta1.PodCertificateRequest]{
	Values: func(r *certificatesv1beta1.PodCertificateRequest) fields.Set {
		return fields.Set{
			"spec.signerName": r.Spec.SignerName,
			"spec.podName":    r.Spec.PodName,
			"spec.nodeName":   string(r.Spec.NodeName),
		}
	},
	Names:       []string{"spec.signerName", "spec.podName", "spec.nodeName"},
	NoNamespace: true,
}
