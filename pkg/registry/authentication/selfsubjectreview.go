package authentication

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// selfSubjectReviewKind is the row of selfsubjectreviews in the server's table of kinds.
var selfSubjectReviewKind = registry.Kind{
	Resource: "selfsubjectreviews",
	Object:   &authenticationv1.SelfSubjectReview{},
	Answer:   func(registry.Dependencies) registry.AnswerFunc { return reviewSelf },
}

// reviewSelf answers a SelfSubjectReview with the user of the request. Nothing of the question is in the answer.
func reviewSelf(ctx context.Context, _ runtime.Object, admit func() error) (runtime.Object, error) {
	if err := admit(); err != nil {
		return nil, err
	}
	caller, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(caller)},
	}, nil
}
