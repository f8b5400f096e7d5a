package authorization

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// localSubjectAccessReviewKind is the row of localsubjectaccessreviews in the server's table of kinds.
var localSubjectAccessReviewKind = registry.Kind{
	Resource:   "localsubjectaccessreviews",
	Namespaced: true,
	Object:     &authorizationv1.LocalSubjectAccessReview{},
	Answer:     reviewLocalAccess,
}

// validateLocalSubjectAccessReview checks a review of a user's permission in one namespace.
func validateLocalSubjectAccessReview(o *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	f := validation.Findings{Errs: accessReviewSpec(&o.Spec)}
	f.Merge(noMetadata(&o.ObjectMeta, true))
	if a := o.Spec.ResourceAttributes; a != nil {
		f.AddIf(a.Namespace != o.Namespace,
			field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), a.Namespace, "must match metadata.namespace"))
	}
	if a := o.Spec.NonResourceAttributes; a != nil {
		f.Add(field.Invalid(field.NewPath("spec.nonResourceAttributes"), validation.Unversioned(a), "disallowed on this kind of request"))
	}
	return f.Errs
}

// reviewLocalAccess answers a LocalSubjectAccessReview. The answer says whether the user in the review's spec has a
// permission in the namespace of the request.
func reviewLocalAccess(deps registry.Dependencies) registry.AnswerFunc {
	return func(ctx context.Context, obj runtime.Object, admit func() error) (runtime.Object, error) {
		review := obj.(*authorizationv1.LocalSubjectAccessReview)
		if err := invalidReview(validateLocalSubjectAccessReview(review)); err != nil {
			return nil, err
		}
		namespace := genericapirequest.NamespaceValue(ctx)
		if namespace == "" {
			return nil, apierrors.NewBadRequest("namespace is required on this type: " + namespace)
		}
		if namespace != review.Namespace {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must match namespace: %v", namespace))
		}
		if err := admit(); err != nil {
			return nil, err
		}
		review.Status = judge(ctx, deps.Authorizer, attributesOf(review.Spec))
		return review, nil
	}
}
