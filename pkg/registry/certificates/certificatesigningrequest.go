package certificates

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/signing"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// certificateSigningRequestKind is the row of certificatesigningrequests in the server's table of kinds.
var certificateSigningRequestKind = registry.Kind{
	Resource:   "certificatesigningrequests",
	ShortNames: []string{"csr"},
	Object:     &certificatesv1.CertificateSigningRequest{}, List: &certificatesv1.CertificateSigningRequestList{},
	Defaults:     []registry.Default{registry.DefaultOf(defaultCertificateSigningRequestV1beta1)},
	Status:       true,
	Resets:       []string{"spec"},
	StatusResets: []string{"status.conditions"},
	Printer:      &certificateSigningRequestColumns,
	Hooks: registry.HooksOf[*certificatesv1.CertificateSigningRequest]{
		PrepareForCreate:       setRequestAuthor,
		PrepareForUpdate:       func(_ context.Context, r, old *certificatesv1.CertificateSigningRequest) { r.Spec = old.Spec },
		PrepareForStatusUpdate: keepApproval,
		Validate:               validateCertificateSigningRequest,
		ValidateUpdate:         validateCertificateSigningRequestUpdate,
		ValidateStatusUpdate:   validateCertificateSigningRequestUpdate,
		Through: map[schema.GroupVersion]registry.Validation[*certificatesv1.CertificateSigningRequest]{
			certificatesv1beta1.SchemeGroupVersion: {Create: validateCertificateSigningRequestV1beta1},
		},
	},
	Fields:       signingRequestFields,
	Subresources: []registry.Subresource{{Name: "approval", Update: updateApproval}},
}

// defaultCertificateSigningRequestV1beta1 sets the defaults of a certificates.k8s.io/v1beta1
// CertificateSigningRequest. If a request has the form of a kubelet's request, the default signer is a signer for
// kubelets. Otherwise it is the legacy signer.
func defaultCertificateSigningRequestV1beta1(r *certificatesv1beta1.CertificateSigningRequest) {
	if r.Spec.Usages == nil {
		r.Spec.Usages = []certificatesv1beta1.KeyUsage{
			certificatesv1beta1.UsageDigitalSignature,
			certificatesv1beta1.UsageKeyEncipherment,
		}
	}
	if r.Spec.SignerName == nil {
		defaults.Pointer(&r.Spec.SignerName, signerName(r.Spec.Request, r.Spec.Usages))
	}
	for i := range r.Status.Conditions {
		defaults.Zero(&r.Status.Conditions[i].Status, corev1.ConditionTrue)
	}
}

func signerName(request []byte, usages []certificatesv1beta1.KeyUsage) string {
	csr, err := signing.ParseRequest(request)
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

// isNode reports whether a certificate request names a node as its subject, and has neither email addresses nor URIs.
func isNode(csr *x509.CertificateRequest) bool {
	return slices.Equal(csr.Subject.Organization, []string{"system:nodes"}) &&
		strings.HasPrefix(csr.Subject.CommonName, "system:node:") &&
		len(csr.EmailAddresses) == 0 && len(csr.URIs) == 0
}

// areUsages reports whether the usages fit a TLS key with the purpose auth, such as client auth. The usage "key
// encipherment" is optional, because elliptic curve keys can't have it.
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

func validateCertificateSigningRequest(o *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequest(o, nil, false)
}

// validateCertificateSigningRequestV1beta1 checks a new request that was sent as v1beta1. Unlike v1, v1beta1 allows
// the legacy signer and any usages.
func validateCertificateSigningRequestV1beta1(o *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequest(o, nil, true)
}

// validateCertificateSigningRequestUpdate checks an update of a request at the main endpoint, or of the status that a
// signer writes. At the main endpoint, the new object has the stored status, because only subresources change the
// status.
func validateCertificateSigningRequestUpdate(o, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequestUpdate(o, old, false)
}

// validateCertificateSigningRequestApprovalUpdate checks an update of certificatesigningrequests/approval.
func validateCertificateSigningRequestApprovalUpdate(o, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return signingRequestUpdate(o, old, true)
}

const leastCertificateLifetime = 600

// keyUsages are the valid values of spec.usages.
var keyUsages = []certificatesv1.KeyUsage{
	certificatesv1.UsageAny, certificatesv1.UsageCertSign, certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning,
	certificatesv1.UsageContentCommitment, certificatesv1.UsageCRLSign, certificatesv1.UsageDataEncipherment,
	certificatesv1.UsageDecipherOnly, certificatesv1.UsageDigitalSignature, certificatesv1.UsageEmailProtection,
	certificatesv1.UsageEncipherOnly, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
	certificatesv1.UsageIPsecUser, certificatesv1.UsageKeyAgreement, certificatesv1.UsageKeyEncipherment,
	certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC, certificatesv1.UsageOCSPSigning,
	certificatesv1.UsageSMIME, certificatesv1.UsageServerAuth, certificatesv1.UsageSigning, certificatesv1.UsageTimestamping,
}

// signingRequest checks a request. An update may keep some invalid parts of the stored request. old is nil on
// create.
func signingRequest(o, old *certificatesv1.CertificateSigningRequest, v1beta1 bool) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, func(string, bool) []string { return nil })
	spec := field.NewPath("spec")
	if old == nil || !slices.Equal(o.Spec.Request, old.Spec.Request) {
		if err := checkRequest(o.Spec.Request); err != nil {
			f.Add(field.Invalid(spec.Child("request"), o.Spec.Request, err.Error()))
		}
	}
	usages := spec.Child("usages")
	f.AddIf(len(o.Spec.Usages) == 0, field.Required(usages, ""))
	if !v1beta1 && (old == nil || !slices.Equal(o.Spec.Usages, old.Spec.Usages)) {
		for i, u := range o.Spec.Usages {
			f.Merge(validation.OneOf(usages.Index(i), u, keyUsages...))
		}
		for i, u := range o.Spec.Usages {
			f.AddIf(slices.Contains(o.Spec.Usages[:i], u), field.Duplicate(usages.Index(i), u))
		}
	}
	signer := spec.Child("signerName")
	legacy := o.Spec.SignerName == certificatesv1beta1.LegacyUnknownSignerName
	if legacy && !v1beta1 && (old == nil || old.Spec.SignerName != o.Spec.SignerName) {
		f.Add(field.Invalid(signer, o.Spec.SignerName, "the legacy signerName is not allowed via this API version"))
	} else {
		f.Merge(podvalidation.SignerName(signer, o.Spec.SignerName))
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

// signingRequestUpdate checks an update of a request. The argument "approving" is true for an update of the approval
// subresource, which adds and changes decisions.
func signingRequestUpdate(o, old *certificatesv1.CertificateSigningRequest, approving bool) field.ErrorList {
	f := validation.Findings{Errs: signingRequest(o, old, false)}
	path := validation.StatusPath.Child("conditions")
	const approved, denied, failed = certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed
	for _, t := range []certificatesv1.RequestConditionType{approved, denied, failed} {
		f.AddIf(len(requestConditions(o, t)) < len(requestConditions(old, t)),
			field.Forbidden(path, fmt.Sprintf("updates may not remove a condition of type %q", t)))
	}
	for _, t := range []certificatesv1.RequestConditionType{approved, denied} {
		now, was := requestConditions(o, t), requestConditions(old, t)
		switch {
		case approving:
		case len(now) > len(was):
			f.Add(field.Forbidden(path, fmt.Sprintf("updates may not add a condition of type %q", t)))
		case len(now) == len(was) && !apiequality.Semantic.DeepEqual(now, was):
			f.Add(field.Forbidden(path, fmt.Sprintf("updates may not modify a condition of type %q\n%v", t, validation.Difference(was, now))))
		}
	}
	f.AddIf(len(old.Status.Certificate) > 0 && !slices.Equal(o.Status.Certificate, old.Status.Certificate),
		field.Forbidden(validation.StatusPath.Child("certificate"), "updates may not modify existing certificate content"))
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs)
	return f.Errs
}

// requestConditions returns pointers to the conditions of the type t, so that the caller can change the conditions.
func requestConditions(o *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) []*certificatesv1.CertificateSigningRequestCondition {
	var found []*certificatesv1.CertificateSigningRequestCondition
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == t {
			found = append(found, c)
		}
	}
	return found
}

func requestConditionList(conditions []certificatesv1.CertificateSigningRequestCondition) field.ErrorList {
	var f validation.Findings
	var types []certificatesv1.RequestConditionType
	list := validation.StatusPath.Child("conditions")
	for i, c := range conditions {
		path := list.Index(i)
		f.AddIf(c.Type == "", field.Required(path.Child("type"), ""))
		allowed := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		switch c.Type {
		case certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			allowed = []corev1.ConditionStatus{corev1.ConditionTrue}
		}
		f.Merge(validation.RequiredOneOf(path.Child("status"), c.Status, allowed...))
		f.AddIf(slices.Contains(types, c.Type), field.Duplicate(path.Child("type"), c.Type))
		types = append(types, c.Type)
	}
	return f.Errs
}

// checkRequest checks the encoding and the signature of a certificate request.
func checkRequest(data []byte) error {
	request, err := signing.ParseRequest(data)
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

// approvalStrategy is the update strategy of certificatesigningrequests/approval. It keeps the stored spec and the
// stored certificate.
type approvalStrategy struct{ registry.Strategy }

func updateApproval(s registry.Strategy) registry.UpdateStrategy { return approvalStrategy{s} }

func (s approvalStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	r, was := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	r.Spec = was.Spec
	setRequestConditionTimes(r, was)
	r.Status.Certificate = was.Status.Certificate
}

func (s approvalStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validateCertificateSigningRequestApprovalUpdate(obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest))
}

func (s approvalStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (s approvalStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.ResetFields([]string{"spec", "status.certificate"})
}

// setRequestAuthor sets the author of a new request to the user who creates it. An author that the client has sent
// is ignored.
func setRequestAuthor(ctx context.Context, r *certificatesv1.CertificateSigningRequest) {
	r.Spec.Username, r.Spec.UID, r.Spec.Groups, r.Spec.Extra = "", "", nil, nil
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		r.Spec.Username, r.Spec.UID, r.Spec.Groups = user.GetName(), user.GetUID(), user.GetGroups()
		for k, v := range user.GetExtra() {
			if r.Spec.Extra == nil {
				r.Spec.Extra = map[string]certificatesv1.ExtraValue{}
			}
			r.Spec.Extra[k] = v
		}
	}
}

// keepApproval keeps the conditions Approved and Denied, which only the approval subresource changes. It also sets
// missing times of conditions.
func keepApproval(_ context.Context, r, old *certificatesv1.CertificateSigningRequest) {
	keepRequestConditions(r, old, certificatesv1.CertificateApproved)
	keepRequestConditions(r, old, certificatesv1.CertificateDenied)
	setRequestConditionTimes(r, old)
}

// keepRequestConditions keeps the stored conditions of a type. If the number of these conditions has changed, it
// keeps nothing, and validation refuses the update.
func keepRequestConditions(r, old *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) {
	now, was := requestConditions(r, t), requestConditions(old, t)
	if len(now) != len(was) {
		return
	}
	for i := range now {
		*now[i] = *was[i]
	}
}

// setRequestConditionTimes sets missing times of conditions. lastTransitionTime comes from the stored condition of
// the same type and status, if there is one.
func setRequestConditionTimes(r, old *certificatesv1.CertificateSigningRequest) {
	now := metav1.Now()
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, was := range requestConditions(old, c.Type) {
			if was.Status == c.Status && !was.LastTransitionTime.IsZero() {
				c.LastTransitionTime = was.LastTransitionTime
				break
			}
		}
	}
}

// certificateSigningRequestColumns makes the rows of kubectl get. They show the author, the signer and the state.
var certificateSigningRequestColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.AgeColumn,
		printers.Text("SignerName", printers.Doc(certificatesv1beta1.CertificateSigningRequestSpec{}, "signerName")),
		printers.Text("Requestor", printers.Doc(certificatesv1beta1.CertificateSigningRequestSpec{}, "request")),
		printers.Text("RequestedDuration", printers.Doc(certificatesv1beta1.CertificateSigningRequestSpec{}, "expirationSeconds")),
		printers.Text("Condition", printers.Doc(certificatesv1beta1.CertificateSigningRequestStatus{}, "conditions")),
	},
	func(r *certificatesv1.CertificateSigningRequest) []any {
		requested := printers.None
		if s := r.Spec.ExpirationSeconds; s != nil {
			requested = duration.HumanDuration(time.Duration(*s) * time.Second)
		}
		return []any{
			r.Name, printers.Since(r.CreationTimestamp), cmp.Or(r.Spec.SignerName, printers.None), r.Spec.Username,
			requested, requestStatus(r),
		}
	})

// requestStatus shows whether the request is approved or denied, and whether its certificate is issued or has
// failed.
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

var signingRequestFields = registry.FieldsOf[*certificatesv1.CertificateSigningRequest]{
	Values: func(r *certificatesv1.CertificateSigningRequest) fields.Set {
		return fields.Set{"spec.signerName": r.Spec.SignerName}
	},
	Names: []string{"spec.signerName"},
}
