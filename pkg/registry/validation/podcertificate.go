package validation

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxPublicKey         = 10 * 1024
	maxProofOfPossession = 10 * 1024
	maxStubRequest       = 10 * 1024
	maxObjectUID         = 128
	// maxKubernetesSeconds is how long a certificate of a signer of Kubernetes' own is valid at most.
	maxKubernetesSeconds = 24 * 60 * 60
)

// PodCertificateRequest checks a new request of a pod for a certificate (KEP-4317), and that
// the request's author has the key.
func PodCertificateRequest(o *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	spec, s := field.NewPath("spec"), &o.Spec
	f.Merge(
		SignerName(spec.Child("signerName"), s.SignerName),
		UserAnnotations(spec.Child("unverifiedUserAnnotations"), s.UnverifiedUserAnnotations),
		Follows(Named(apivalidation.NameIsDNSSubdomain), spec.Child("podName"), s.PodName),
		objectUID(spec.Child("podUID"), s.PodUID),
		Follows(Named(apivalidation.ValidateServiceAccountName), spec.Child("serviceAccountName"), s.ServiceAccountName),
		objectUID(spec.Child("serviceAccountUID"), s.ServiceAccountUID),
		Follows(Named(apivalidation.NameIsDNSSubdomain), spec.Child("nodeName"), string(s.NodeName)),
		objectUID(spec.Child("nodeUID"), s.NodeUID),
		certificateSeconds(spec.Child("maxExpirationSeconds"), s))
	if s.MaxExpirationSeconds != nil { // its default is missing only if there was no decoding
		f.Merge(podKey(spec, s))
	}
	return f.Errs
}

// PodCertificateRequestUpdate checks a request that replaces another: what is asked for
// never changes.
func PodCertificateRequestUpdate(o, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(Unchanged(field.NewPath("spec"), o.Spec, old.Spec))
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
	most := int32(MaxCertificateSeconds)
	if domain, _, _ := strings.Cut(s.SignerName, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		most = maxKubernetesSeconds
	}
	if seconds := *s.MaxExpirationSeconds; seconds < MinCertificateSeconds || seconds > most {
		return field.ErrorList{field.Invalid(path, seconds, fmt.Sprintf("must be in the range [%d, %d]", MinCertificateSeconds, most))}
	}
	return nil
}

// UserAnnotations checks what a pod tells its signer: annotations whose keys all have a
// domain.
func UserAnnotations(path *field.Path, annotations map[string]string) field.ErrorList {
	var f Findings
	for key := range Sorted(annotations) {
		f.Merge(utilvalidation.IsDomainPrefixedKey(path, strings.ToLower(key)))
	}
	f.AddIf(apivalidation.ValidateAnnotationsSize(annotations) != nil, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	return f.Errs
}

// podKey checks the key, and that the request's author has its private half: the key is in a
// certificate request that is signed with it, or, in v1beta1 alone, beside a signature of the
// pod's UID.
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

// provenKey checks a key that a signature stands beside.
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

// stubRequest checks a certificate request that is there for its key and its signature.
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

// publicKey checks the kind of a key. The error about a curve names some that are taken, the one about
// an unknown kind shows a value.
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

// signedBy tells whether a signature is the key's, in the ways that the API's
// description of proofOfPossession has.
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
