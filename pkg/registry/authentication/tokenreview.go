package authentication

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// tokenReviewKind is the row of tokenreviews in the server's table of kinds.
var tokenReviewKind = registry.Kind{
	Resource: "tokenreviews",
	Object:   &authenticationv1.TokenReview{},
	Answer:   reviewToken,
}

// Tokens is the part of the server that checks the tokens of TokenReviews.
type Tokens struct {
	Authenticator authenticator.Request
	// Audiences are the audiences of this server. A token must be valid for one of them if the TokenReview names no
	// audiences.
	Audiences authenticator.Audiences
}

// reviewToken answers a TokenReview with the user of the token.
func reviewToken(deps registry.Dependencies) registry.AnswerFunc {
	tokens := registry.PartOf[Tokens](deps)
	return func(ctx context.Context, obj runtime.Object, admit func() error) (runtime.Object, error) {
		review := obj.(*authenticationv1.TokenReview)
		if review.Namespace != "" {
			return nil, apierrors.NewBadRequest("namespace is not allowed on this type: " + review.Namespace)
		}
		if review.Spec.Token == "" {
			return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
		}
		if err := admit(); err != nil {
			return nil, err
		}
		audiences := authenticator.Audiences(review.Spec.Audiences)
		if len(audiences) == 0 {
			audiences = tokens.Audiences
		}
		if len(audiences) > 0 {
			ctx = authenticator.WithAudiences(ctx, audiences)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		request.Header.Set("Authorization", "Bearer "+review.Spec.Token)

		response, ok, err := tokens.Authenticator.AuthenticateRequest(request)
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok}
		if err != nil {
			review.Status.Error = err.Error()
		}
		if response == nil || response.User == nil {
			return review, nil
		}
		review.Status.User = userInfo(response.User)
		// If the authenticator returns no audiences, the token is valid for the audiences of the API server.
		answered := response.Audiences
		if len(answered) == 0 && ok {
			answered = tokens.Audiences
		}
		if len(audiences) > 0 && len(answered.Intersect(audiences)) == 0 {
			review.Status = authenticationv1.TokenReviewStatus{Error: "token is not valid for the requested audiences"}
			return review, nil
		}
		review.Status.Audiences = answered.Intersect(audiences)
		return review, nil
	}
}
