package serviceaccounttokens

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	tokenjwt "k8s.io/apiserver/pkg/authentication/token/jwt"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

const (
	// leeway is the accepted difference between the clocks of issuer and verifier.
	leeway = time.Minute
	// staleTokenAnnotation marks, in the audit log, a request with a token that is older than the lifetime that its
	// TokenRequest asked for.
	staleTokenAnnotation = "authentication.k8s.io/stale-token"
	// legacyAnnotation has, in the audit log, the user of a token without audiences.
	legacyAnnotation = "authentication.k8s.io/legacy-token"
	// legacyIssuer is the iss claim of tokens that are kept in Secrets.
	legacyIssuer = "kubernetes/serviceaccount"
)

// ObjectGetter reads the objects that tokens are bound to. A client of client-go implements it.
type ObjectGetter interface {
	corev1client.ServiceAccountsGetter
	corev1client.PodsGetter
	corev1client.SecretsGetter
	corev1client.NodesGetter
}

// Authenticator accepts tokens that were signed by a [TokenGenerator], or by a token controller that stores them in
// Secrets.
type Authenticator struct {
	// Issuers are the accepted iss claims.
	Issuers []string
	// Keys verify the signatures.
	Keys KeySet
	// Audiences are the audiences of the API server. A token must have one of these audiences. If the context of
	// AuthenticateToken has audiences, the token must have one of those instead.
	Audiences authenticator.Audiences
	// Objects reads accounts, pods, secrets and nodes. It also records the use of legacy tokens in their Secrets.
	Objects ObjectGetter
	// Webhooks reads webhook configurations.
	Webhooks admissionregistrationclient.AdmissionregistrationV1Interface
	// LookupLegacy is the value of --service-account-lookup. If it is true, a token that was made for a Secret (a
	// legacy token) is refused unless the Secret still has the token and the account exists. The token is also refused
	// if the Secret has the label kubernetes.io/legacy-token-invalid-since. The objects that TokenRequest tokens are
	// bound to are always checked.
	LookupLegacy bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

var _ authenticator.Token = (*Authenticator)(nil)

// AuthenticateToken returns no user and no error for a malformed token, for a token of another issuer, and for a token
// that names an unknown key. Another authenticator may accept such a token. For any other invalid token, such as an
// expired token, AuthenticateToken returns an error.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	unverified := &claims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, unverified)
	if err != nil {
		return nil, false, nil
	}
	legacy := unverified.Issuer == legacyIssuer
	if !legacy && !slices.Contains(a.Issuers, unverified.Issuer) {
		return nil, false, nil
	}

	kid, _ := parsed.Header["kid"].(string)
	verified, err := a.verify(token, kid)
	if err != nil || verified == nil {
		return nil, false, err
	}
	audiences, err := a.audiences(ctx, verified)
	if err != nil {
		return nil, false, err
	}
	validate := a.validate
	if legacy {
		validate = a.validateLegacy
	}
	account, err := validate(ctx, token, verified)
	if err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: account.UserInfo(), Audiences: audiences}, true, nil
}

// verify checks the token's signature with the key that kid names, or with each key if kid is empty. If the server
// doesn't have the key that kid names, verify returns no claims and no error, because another authenticator may have
// the key. If no key fits the signature, verify returns an error.
func (a *Authenticator) verify(token, kid string) (*claims, error) {
	var errs []error
	for _, key := range a.Keys.named(kid) {
		verified := &claims{}
		// The method validate checks the times of a TokenRequest token, with the leeway and the messages of
		// kube-apiserver.
		parser := jwt.NewParser(jwt.WithValidMethods([]string{key.Algorithm}), jwt.WithoutClaimsValidation())
		_, err := parser.ParseWithClaims(token, verified, func(*jwt.Token) (any, error) { return key.Key, nil })
		if err == nil {
			return verified, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// audiences returns the audiences that are both in the token and in ctx. If one of them has no audiences, the audiences
// of the API server take their place.
func (a *Authenticator) audiences(ctx context.Context, token *claims) (authenticator.Audiences, error) {
	offered := authenticator.Audiences(token.Audience)
	if len(offered) == 0 { // legacy tokens have no audiences
		audit.AddAuditAnnotation(ctx, legacyAnnotation, token.Subject)
		offered = a.Audiences
	}
	wanted, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		wanted = a.Audiences
	}
	common := offered.Intersect(wanted)
	if len(common) == 0 && len(a.Audiences) != 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", offered, wanted)
	}
	return common, nil
}

// validate checks the times of a TokenRequest token. It also checks that the objects to which the token is bound still
// exist.
func (a *Authenticator) validate(ctx context.Context, _ string, token *claims) (*serviceaccount.ServiceAccountInfo, error) {
	now := a.now()
	if err := validateTimes(token, now); err != nil {
		return nil, err
	}
	private := token.Kubernetes
	if private == nil {
		return nil, errors.New("service account token has no kubernetes.io claim")
	}
	if err := validateAttestations(private); err != nil {
		return nil, err
	}
	for _, object := range a.bound(private) {
		if object.ref == nil {
			continue
		}
		got, err := object.get(ctx, object.ref.Name)
		if err == nil {
			if uid := string(got.GetUID()); uid != object.ref.UID {
				return nil, fmt.Errorf("%s UID (%s) does not match %s (%s)", object.name, uid, object.claim, object.ref.UID)
			}
			if deleted := got.GetDeletionTimestamp(); deleted != nil && deleted.Time.Before(now.Add(-leeway)) {
				err = fmt.Errorf("%s %s/%s has been deleted", object.name, private.Namespace, object.ref.Name)
			}
		}
		switch {
		case err != nil && object.ref == &private.ServiceAccount:
			return nil, err
		case err != nil:
			klog.FromContext(ctx).V(4).Info("a service account token has ended", "err", err.Error())
			return nil, errors.New("service account token has been invalidated")
		}
	}

	if private.WarnAfter != nil && private.WarnAfter.Before(now) {
		audit.AddAuditAnnotation(ctx, staleTokenAnnotation, fmt.Sprintf(
			"subject: %s, seconds after warning threshold: %.0f", token.Subject, now.Sub(private.WarnAfter.Time).Seconds()))
	}
	account := &serviceaccount.ServiceAccountInfo{
		Namespace:    private.Namespace,
		Name:         private.ServiceAccount.Name,
		UID:          private.ServiceAccount.UID,
		CredentialID: tokenjwt.CredentialIDForJTI(token.ID),
	}
	if private.Pod != nil {
		account.PodName, account.PodUID = private.Pod.Name, private.Pod.UID
	}
	if private.Node != nil {
		account.NodeName, account.NodeUID = private.Node.Name, private.Node.UID
	}
	if ref := private.ValidatingWebhookConfiguration; ref != nil {
		account.ValidatingWebhookConfigurationName, account.ValidatingWebhookConfigurationUID = ref.Name, ref.UID
	}
	if ref := private.MutatingWebhookConfiguration; ref != nil {
		account.MutatingWebhookConfigurationName, account.MutatingWebhookConfigurationUID = ref.Name, ref.UID
	}
	account.AttestationAdmissionReviewAPIGroups = private.Attestations[authenticationv1.AttestationAdmissionReviewAPIGroups]
	return account, nil
}

// validateAttestations checks that a token for a webhook says for which API groups its bearer may call the webhook
// (KEP-6060).
func validateAttestations(private *kubernetesClaims) error {
	if private.ValidatingWebhookConfiguration == nil && private.MutatingWebhookConfiguration == nil {
		return nil
	}
	if gate := features.APIServerWebhookAuthenticationToken; !utilfeature.DefaultFeatureGate.Enabled(gate) {
		return fmt.Errorf("feature gate %q is disabled, but token is webhook bound", gate)
	}
	if key := authenticationv1.AttestationAdmissionReviewAPIGroups; len(private.Attestations[key]) == 0 {
		return fmt.Errorf("bound object was a webhook config, but %q attestation is missing", key)
	}
	return nil
}

func validateTimes(token *claims, now time.Time) error {
	after := func(date *jwt.NumericDate) bool { return date != nil && date.Time.After(now.Add(leeway)) }
	switch {
	case token.ExpiresAt != nil && token.ExpiresAt.Time.Before(now.Add(-leeway)):
		return errors.New("service account token has expired")
	case after(token.NotBefore):
		return errors.New("service account token is not valid yet")
	case after(token.IssuedAt):
		return errors.New("service account token is issued in the future")
	}
	return nil
}

// boundObject is an object that a token is bound to: the token ends with the object. Errors have the name of the object's
// kind, and kube-apiserver's name of the claim.
type boundObject struct {
	name, claim string
	ref         *reference
	get         func(ctx context.Context, name string) (metav1.Object, error)
}

func (a *Authenticator) bound(private *kubernetesClaims) []boundObject {
	var get metav1.GetOptions
	node := private.Node
	if private.Pod != nil {
		node = nil // a token for a pod ends with the pod, not with the node
	}
	return []boundObject{
		{"service account", "claim", &private.ServiceAccount, func(ctx context.Context, name string) (metav1.Object, error) {
			return a.Objects.ServiceAccounts(private.Namespace).Get(ctx, name, get)
		}},
		{"secret", "service account secret ref claim", private.Secret, func(ctx context.Context, name string) (metav1.Object, error) {
			return a.Objects.Secrets(private.Namespace).Get(ctx, name, get)
		}},
		{"pod", "service account pod ref claim", private.Pod, func(ctx context.Context, name string) (metav1.Object, error) {
			return a.Objects.Pods(private.Namespace).Get(ctx, name, get)
		}},
		{"node", "service account node ref claim", node, func(ctx context.Context, name string) (metav1.Object, error) {
			return a.Objects.Nodes().Get(ctx, name, get)
		}},
		{"ValidatingWebhookConfiguration", "service account validating ref claim", private.ValidatingWebhookConfiguration, func(ctx context.Context, name string) (metav1.Object, error) {
			return a.Webhooks.ValidatingWebhookConfigurations().Get(ctx, name, get)
		}},
		{"MutatingWebhookConfiguration", "service account validating ref claim", private.MutatingWebhookConfiguration, func(ctx context.Context, name string) (metav1.Object, error) {
			return a.Webhooks.MutatingWebhookConfigurations().Get(ctx, name, get)
		}},
	}
}

func (a *Authenticator) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}
