package registry

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// approvalStrategy is the strategy of certificatesigningrequests/approval, on which
// only the conditions can change.
type approvalStrategy struct{ Strategy }

func updateApproval(s Strategy) UpdateStrategy { return approvalStrategy{s} }

func (s approvalStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	r, was := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	r.Spec = was.Spec
	setRequestConditionTimes(r, was)
	r.Status.Certificate = was.Status.Certificate
}

func (s approvalStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.CertificateSigningRequestApprovalUpdate(obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest))
}

func (s approvalStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (s approvalStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.ResetFields([]string{"spec", "status.certificate"})
}
