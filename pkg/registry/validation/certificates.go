package validation

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CertificateSigningRequest checks a new request.
func CertificateSigningRequest(o *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequest(o, nil, false)
}

// CertificateSigningRequestV1beta1 checks a new request sent as v1beta1, which is older than signers:
// who names none is given the legacy one, and usages are free.
func CertificateSigningRequestV1beta1(o *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequest(o, nil, true)
}

// CertificateSigningRequestUpdate checks a request that replaces another: approval and
// certificate have subresources of their own.
func CertificateSigningRequestUpdate(o, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequestUpdate(o, old, false)
}

// CertificateSigningRequestApprovalUpdate checks what the approval subresource is given.
func CertificateSigningRequestApprovalUpdate(o, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequestUpdate(o, old, true)
}

// CertificateSigningRequestStatusUpdate checks what a signer writes.
func CertificateSigningRequestStatusUpdate(o, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	f := Findings{signingRequestUpdate(o, old, false)}
	f.AddIf(len(old.Status.Certificate) > 0 && !slices.Equal(o.Status.Certificate, old.Status.Certificate),
		field.Forbidden(field.NewPath("status", "certificate"), "updates may not change certificate once set"))
	return f.Errs
}

const leastCertificateLifetime = 600

// keyUsages are the uses of keys that a request may name.
var keyUsages = []certificatesv1.KeyUsage{
	certificatesv1.UsageAny, certificatesv1.UsageCertSign, certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning,
	certificatesv1.UsageContentCommitment, certificatesv1.UsageCRLSign, certificatesv1.UsageDataEncipherment,
	certificatesv1.UsageDecipherOnly, certificatesv1.UsageDigitalSignature, certificatesv1.UsageEmailProtection,
	certificatesv1.UsageEncipherOnly, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
	certificatesv1.UsageIPsecUser, certificatesv1.UsageKeyAgreement, certificatesv1.UsageKeyEncipherment,
	certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC, certificatesv1.UsageOCSPSigning,
	certificatesv1.UsageSMIME, certificatesv1.UsageServerAuth, certificatesv1.UsageSigning, certificatesv1.UsageTimestamping,
}

// signingRequest checks a request. With an old one, what that has already stays valid.
func signingRequest(o, old *certificatesv1.CertificateSigningRequest, v1beta1 bool) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, func(string, bool) []string { return nil })
	spec := field.NewPath("spec")
	if old == nil || !slices.Equal(o.Spec.Request, old.Spec.Request) {
		if err := parseRequest(o.Spec.Request); err != nil {
			f.Add(field.Invalid(spec.Child("request"), o.Spec.Request, err.Error()))
		}
	}
	usages := spec.Child("usages")
	f.AddIf(len(o.Spec.Usages) == 0, field.Required(usages, ""))
	if !v1beta1 && (old == nil || !slices.Equal(o.Spec.Usages, old.Spec.Usages)) {
		for i, u := range o.Spec.Usages {
			f.Merge(OneOf(usages.Index(i), u, keyUsages...))
		}
		for i, u := range o.Spec.Usages {
			f.AddIf(slices.Contains(o.Spec.Usages[:i], u), field.Duplicate(usages.Index(i), u))
		}
	}
	signer := spec.Child("signerName")
	legacy := o.Spec.SignerName == "kubernetes.io/legacy-unknown"
	if legacy && !v1beta1 && (old == nil || old.Spec.SignerName != o.Spec.SignerName) {
		f.Add(field.Invalid(signer, o.Spec.SignerName, "the legacy signerName is not allowed via this API version"))
	} else {
		f.Merge(SignerName(signer, o.Spec.SignerName))
	}
	if s := o.Spec.ExpirationSeconds; s != nil {
		f.AddIf(*s < leastCertificateLifetime, field.Invalid(spec.Child("expirationSeconds"), *s,
			"may not specify a duration less than 600 seconds (10 minutes)"))
	}
	f.Merge(requestConditionList(o.Status.Conditions))
	if old == nil || !slices.Equal(o.Status.Certificate, old.Status.Certificate) {
		if err := parseCertificates(o.Status.Certificate); err != nil {
			f.Add(field.Invalid(field.NewPath("status", "certificate"), "<certificate data>", err.Error()))
		}
	}
	return f.Errs
}

func signingRequestUpdate(o, old *certificatesv1.CertificateSigningRequest, approving bool) field.ErrorList {
	f := Findings{signingRequest(o, old, false)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs)
	path := field.NewPath("status", "conditions")
	for _, t := range []certificatesv1.RequestConditionType{
		certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		was, now := RequestConditions(old, t), RequestConditions(o, t)
		switch failed := t == certificatesv1.CertificateFailed; {
		case len(now) < len(was):
			f.Add(field.Forbidden(path, fmt.Sprintf("updates may not remove a condition of type %q", t)))
		case len(now) > len(was):
			f.AddIf(!approving && !failed, field.Forbidden(path, fmt.Sprintf("updates may not add a condition of type %q", t)))
		default:
			f.AddIf(!failed && !apiequality.Semantic.DeepEqual(now, was),
				field.Forbidden(path, fmt.Sprintf("updates may not modify a condition of type %q", t)))
		}
	}
	return f.Errs
}

// RequestConditions are a request's conditions of a type. They are the request's own: what changes them
// changes it.
func RequestConditions(o *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) []*certificatesv1.CertificateSigningRequestCondition {
	var found []*certificatesv1.CertificateSigningRequestCondition
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == t {
			found = append(found, c)
		}
	}
	return found
}

func requestConditionList(conditions []certificatesv1.CertificateSigningRequestCondition) field.ErrorList {
	var f Findings
	var types []certificatesv1.RequestConditionType
	for i, c := range conditions {
		path := field.NewPath("status", "conditions").Index(i)
		f.AddIf(c.Type == "", field.Required(path.Child("type"), ""))
		allowed := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		decision := c.Type == certificatesv1.CertificateApproved || c.Type == certificatesv1.CertificateDenied
		if decision || c.Type == certificatesv1.CertificateFailed {
			allowed = []corev1.ConditionStatus{corev1.ConditionTrue}
		}
		f.Merge(RequiredOneOf(path.Child("status"), c.Status, allowed...))
		other := certificatesv1.CertificateDenied
		if c.Type == other {
			other = certificatesv1.CertificateApproved
		}
		f.AddIf(decision && slices.Contains(types, other),
			field.Invalid(path.Child("type"), c.Type, "Approved and Denied conditions are mutually exclusive"))
		f.AddIf(slices.Contains(types, c.Type), field.Duplicate(path.Child("type"), c.Type))
		types = append(types, c.Type)
	}
	return f.Errs
}

func parseRequest(data []byte) error {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

func parseCertificates(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	found := false
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		switch {
		case block.Type != "CERTIFICATE":
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		case len(block.Headers) > 0:
			return errors.New("no PEM block headers are permitted")
		}
		certificates, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certificates) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
		found = true
	}
	if !found {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}
