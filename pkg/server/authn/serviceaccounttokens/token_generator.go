package serviceaccounttokens

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	tokenjwt "k8s.io/apiserver/pkg/authentication/token/jwt"
)

// TokenGenerator makes tokens for the serviceaccounts/token subresource.
type TokenGenerator struct {
	// Issuer is the iss claim of the tokens.
	Issuer string
	// Signer signs the tokens.
	Signer *Signer
	// Audiences are the audiences of the API server. A token that is requested without audiences gets these audiences.
	Audiences []string
	// MaxExpiration limits the lifetime of tokens. Zero means no limit.
	MaxExpiration time.Duration
	// ExtendExpiration makes a token valid for a year if it is bound to a pod, is only for the API server, and is
	// requested for safeTransitionSeconds. If such a token is used after the requested lifetime, the audit log has a
	// warning.
	ExtendExpiration bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// IssueToken fills in the defaults and the status of a TokenRequest for an account. The argument "bound" has the
// objects that the token is bound to: a Pod (and its Node), a Secret, a Node, or a webhook configuration. The caller must check that these
// exist, belong to the account and match the request's boundObjectRef.
func (g *TokenGenerator) IssueToken(ctx context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest, bound ...runtime.Object) error {
	if len(request.Spec.Audiences) == 0 {
		request.Spec.Audiences = slices.Clone(g.Audiences)
	}
	lifetime := g.lifetime(ctx, request)

	now := time.Now()
	if g.Now != nil {
		now = g.Now()
	}
	private := &kubernetesClaims{
		Namespace: account.Namespace, ServiceAccount: referenceTo(account), Attestations: request.Spec.Attestations,
	}
	for _, object := range bound {
		if err := private.bind(object); err != nil {
			return fmt.Errorf("token for service account %s/%s: %w", account.Namespace, account.Name, err)
		}
	}
	expires := lifetime
	if g.ExtendExpiration && private.Pod != nil && lifetime == safeTransitionSeconds*time.Second && g.isForAPIServer(request.Spec.Audiences) {
		private.WarnAfter = jwt.NewNumericDate(now.Add(lifetime))
		expires = extendedSeconds * time.Second
	}

	id := string(uuid.NewUUID())
	token, err := g.Signer.sign(&claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    g.Issuer,
			Subject:   serviceaccount.MakeUsername(account.Namespace, account.Name),
			Audience:  request.Spec.Audiences,
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(expires)),
			ID:        id,
		},
		Kubernetes: private,
	})
	if err != nil {
		return err
	}
	audit.AddAuditAnnotation(ctx, serviceaccount.IssuedCredentialIDAuditAnnotationKey, tokenjwt.CredentialIDForJTI(id))
	request.Status = authenticationv1.TokenRequestStatus{
		Token:               token,
		ExpirationTimestamp: metav1.Time{Time: now.Add(lifetime)},
	}
	return nil
}

func (c *kubernetesClaims) bind(object runtime.Object) error {
	switch object := object.(type) {
	case *corev1.Pod:
		c.Pod = new(referenceTo(object))
	case *corev1.Secret:
		c.Secret = new(referenceTo(object))
	case *corev1.Node:
		c.Node = new(referenceTo(object))
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		c.ValidatingWebhookConfiguration = new(referenceTo(object))
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		c.MutatingWebhookConfiguration = new(referenceTo(object))
	default:
		return fmt.Errorf("a token can't be bound to a %T", object)
	}
	return nil
}
