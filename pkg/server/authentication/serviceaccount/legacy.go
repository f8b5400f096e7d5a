package serviceaccount

import (
	"context"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

const (
	// invalidSinceLabel marks Secrets whose tokens haven't been used for a long time. The value is the date of the mark
	// (https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-legacy-token-invalid-since).
	invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"
	// invalidatedAnnotation marks, in the audit log, a request with a token of a Secret that has invalidSinceLabel.
	invalidatedAnnotation = "authentication.k8s.io/legacy-token-invalidated"
)

// LegacyToken signs a token of an account. The caller stores the token in a Secret. The token has no expiry. If
// Authenticator.LookupLegacy is true, the token is refused unless the Secret contains the token and the account exists.
// It is also refused if the Secret has the label kubernetes.io/legacy-token-invalid-since.
func (g *TokenGenerator) LegacyToken(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error) {
	return g.Signer.sign(&claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: legacyIssuer, Subject: serviceaccount.MakeUsername(account.Namespace, account.Name),
		},
		legacyClaims: legacyClaims{
			Namespace: account.Namespace, SecretName: secret.Name, ServiceAccountName: account.Name, ServiceAccountUID: string(account.UID),
		},
	})
}

// validateLegacy checks a legacy token. Such a token has no expiry, and a token controller keeps it in a Secret.
func (a *Authenticator) validateLegacy(ctx context.Context, token string, verified *claims) (*serviceaccount.ServiceAccountInfo, error) {
	for _, claim := range []struct{ name, value string }{
		{"sub", verified.Subject},
		{"namespace", verified.Namespace},
		{"secretName", verified.SecretName},
		{"serviceAccountName", verified.ServiceAccountName},
		{"serviceAccountUID", verified.ServiceAccountUID},
	} {
		if claim.value == "" {
			return nil, fmt.Errorf("%s claim is missing", claim.name)
		}
	}
	namespace, name, uid := verified.Namespace, verified.ServiceAccountName, verified.ServiceAccountUID
	if !serviceaccount.MatchesUsername(namespace, name, verified.Subject) {
		return nil, errors.New("sub claim is invalid")
	}
	if a.LookupLegacy {
		if err := a.lookupLegacy(ctx, token, &verified.legacyClaims); err != nil {
			return nil, err
		}
	}
	return &serviceaccount.ServiceAccountInfo{Namespace: namespace, Name: name, UID: uid}, nil
}

// lookupLegacy checks that the Secret still has the token and isn't marked by invalidSinceLabel, and that the account
// still exists.
func (a *Authenticator) lookupLegacy(ctx context.Context, token string, legacy *legacyClaims) error {
	secret, err := a.Objects.Secrets(legacy.Namespace).Get(ctx, legacy.SecretName, metav1.GetOptions{})
	if err != nil || secret.DeletionTimestamp != nil {
		return errors.New("token has been invalidated")
	}
	if string(secret.Data[corev1.ServiceAccountTokenKey]) != token {
		return errors.New("token does not match server's copy")
	}
	if secret.Labels[invalidSinceLabel] != "" {
		audit.AddAuditAnnotation(ctx, invalidatedAnnotation, secret.Name+"/"+secret.Namespace)
		return fmt.Errorf("the token in secret %s/%s is marked invalid: take the label %s off the secret, or get another by a TokenRequest",
			legacy.Namespace, legacy.SecretName, invalidSinceLabel)
	}
	account, err := a.Objects.ServiceAccounts(legacy.Namespace).Get(ctx, legacy.ServiceAccountName, metav1.GetOptions{})
	if err != nil || account.DeletionTimestamp != nil {
		return fmt.Errorf("service account %s/%s has been deleted", legacy.Namespace, legacy.ServiceAccountName)
	}
	if string(account.UID) != legacy.ServiceAccountUID {
		return fmt.Errorf("service account UID (%s) does not match claim (%s)", account.UID, legacy.ServiceAccountUID)
	}
	return nil
}
