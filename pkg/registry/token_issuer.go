package registry

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TokenIssuer signs service account tokens.
type TokenIssuer interface {
	// IssueToken fills in what the request's spec leaves out, and its status. Bound
	// are the objects that the token ends with.
	IssueToken(ctx context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest, bound ...runtime.Object) error
}
