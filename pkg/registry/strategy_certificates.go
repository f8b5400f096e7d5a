package registry

import (
	"context"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

var signingRequestHooks = HooksOf[*certificatesv1.CertificateSigningRequest]{
	// A request says who made it, whatever it claims to be.
	PrepareForCreate: func(ctx context.Context, r *certificatesv1.CertificateSigningRequest) {
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
	},
	PrepareForUpdate: func(_ context.Context, r, old *certificatesv1.CertificateSigningRequest) { r.Spec = old.Spec },
	// Approval and denial are made at another endpoint: here they stay as they were.
	PrepareForStatusUpdate: func(_ context.Context, r, old *certificatesv1.CertificateSigningRequest) {
		keepRequestConditions(r, old, certificatesv1.CertificateApproved)
		keepRequestConditions(r, old, certificatesv1.CertificateDenied)
		setRequestConditionTimes(r, old)
	},
	Validate:             validation.CertificateSigningRequest,
	ValidateUpdate:       validation.CertificateSigningRequestUpdate,
	ValidateStatusUpdate: validation.CertificateSigningRequestStatusUpdate,
	Through: map[schema.GroupVersion]Validation[*certificatesv1.CertificateSigningRequest]{
		certificatesv1beta1.SchemeGroupVersion: {
			Create: validation.CertificateSigningRequestV1beta1, Update: validation.CertificateSigningRequestUpdate,
		},
	},
}

var signingRequestFields = FieldsOf[*certificatesv1.CertificateSigningRequest]{
	Values: func(r *certificatesv1.CertificateSigningRequest) fields.Set {
		return fields.Set{"spec.signerName": r.Spec.SignerName}
	},
	Names: []string{"spec.signerName"},
}

// keepRequestConditions keeps the conditions of a type as they were. Where their
// number changed nothing can be kept, and validation refuses the change.
func keepRequestConditions(r, old *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) {
	now, was := validation.RequestConditions(r, t), validation.RequestConditions(old, t)
	if len(now) != len(was) {
		return
	}
	for i := range now {
		*now[i] = *was[i]
	}
}

// setRequestConditionTimes sets the times of conditions that have none. The last
// transition is that of the old condition of the same type and status, if there is one.
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
		for _, was := range validation.RequestConditions(old, c.Type) {
			if was.Status == c.Status && !was.LastTransitionTime.IsZero() {
				c.LastTransitionTime = was.LastTransitionTime
				break
			}
		}
	}
}

var trustBundleFields = FieldsOf[*certificatesv1.ClusterTrustBundle]{
	Values: func(b *certificatesv1.ClusterTrustBundle) fields.Set {
		return fields.Set{"spec.signerName": b.Spec.SignerName}
	},
	Names: []string{"spec.signerName"},
}

var podCertificateRequestHooks = HooksOf[*certificatesv1beta1.PodCertificateRequest]{
	Validate:             validation.PodCertificateRequest,
	ValidateUpdate:       validation.PodCertificateRequestUpdate,
	ValidateStatusUpdate: validation.PodCertificateRequestStatusUpdate,
	AuthorizeStatus:      maySign,
}

// maySign refuses a changed answer by a user who may not sign for the signer (KEP-4317).
func maySign(ctx context.Context, deps Dependencies, r, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	if apiequality.Semantic.DeepEqual(r.Status, old.Status) {
		return nil
	}
	path, signer := field.NewPath("spec", "signerName"), old.Spec.SignerName
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("the request has no user"))}
	}
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		// An error is no permission.
		decision, _, _ := deps.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User: user, Verb: "sign", APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers",
			Name: name, ResourceRequest: true,
		})
		if decision == authorizer.DecisionAllow {
			return nil
		}
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", user.GetName(), signer))}
}

var podCertificateRequestFields = FieldsOf[*certificatesv1beta1.PodCertificateRequest]{
	Values: func(r *certificatesv1beta1.PodCertificateRequest) fields.Set {
		return fields.Set{
			"spec.signerName": r.Spec.SignerName,
			"spec.podName":    r.Spec.PodName,
			"spec.nodeName":   string(r.Spec.NodeName),
		}
	},
	Names: []string{"spec.signerName", "spec.podName", "spec.nodeName"},
}
