package authorization

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// subjectAccessReviewKind is the row of subjectaccessreviews in the server's table of kinds.
var subjectAccessReviewKind = registry.Kind{
	Resource: "subjectaccessreviews",
	Object:   &authorizationv1.SubjectAccessReview{},
	Answer:   reviewAccess,
}

// validateSubjectAccessReview checks a review of a user's permission.
func validateSubjectAccessReview(o *authorizationv1.SubjectAccessReview) field.ErrorList {
	f := validation.Findings{Errs: accessReviewSpec(&o.Spec)}
	f.Merge(noMetadata(&o.ObjectMeta, false))
	return f.Errs
}

// reviewAccess answers a SubjectAccessReview. The answer says whether the user in the review's spec has a permission.
func reviewAccess(deps registry.Dependencies) registry.AnswerFunc {
	return func(ctx context.Context, obj runtime.Object, admit func() error) (runtime.Object, error) {
		review := obj.(*authorizationv1.SubjectAccessReview)
		if err := invalidReview(validateSubjectAccessReview(review)); err != nil {
			return nil, err
		}
		if err := admit(); err != nil {
			return nil, err
		}
		review.Status = judge(ctx, deps.Authorizer, attributesOf(review.Spec))
		return review, nil
	}
}
