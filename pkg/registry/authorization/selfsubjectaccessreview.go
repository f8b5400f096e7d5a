package authorization

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// selfSubjectAccessReviewKind is the row of selfsubjectaccessreviews in the server's table of kinds.
var selfSubjectAccessReviewKind = registry.Kind{
	Resource: "selfsubjectaccessreviews",
	Object:   &authorizationv1.SelfSubjectAccessReview{},
	Answer:   reviewSelfAccess,
}

// validateSelfSubjectAccessReview checks a review of the caller's permission.
func validateSelfSubjectAccessReview(o *authorizationv1.SelfSubjectAccessReview) field.ErrorList {
	f := validation.Findings{Errs: accessAttributes(o.Spec.ResourceAttributes, o.Spec.NonResourceAttributes)}
	f.Merge(resourceSelectors(o.Spec.ResourceAttributes), noMetadata(&o.ObjectMeta, false))
	return f.Errs
}

// reviewSelfAccess answers a SelfSubjectAccessReview. The answer says whether the caller has a permission.
func reviewSelfAccess(deps registry.Dependencies) registry.AnswerFunc {
	return func(ctx context.Context, obj runtime.Object, admit func() error) (runtime.Object, error) {
		review := obj.(*authorizationv1.SelfSubjectAccessReview)
		if err := invalidReview(validateSelfSubjectAccessReview(review)); err != nil {
			return nil, err
		}
		caller, ok := genericapirequest.UserFrom(ctx)
		if !ok {
			return nil, apierrors.NewBadRequest("no user present on request")
		}
		if err := admit(); err != nil {
			return nil, err
		}
		attributes := attributesOf(authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: review.Spec.ResourceAttributes, NonResourceAttributes: review.Spec.NonResourceAttributes,
		})
		attributes.User = caller
		review.Status = judge(ctx, deps.Authorizer, attributes)
		return review, nil
	}
}
