package authn

import (
	"context"
	"crypto/subtle"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// These names belong to bootstrap tokens: the type of a token's Secret, the beginning of the Secret's name, the
// beginning of the user's name, and a group of the user. See
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/.
const (
	bootstrapTokenType       = corev1.SecretTypeBootstrapToken
	bootstrapTokenNamePrefix = "bootstrap-token-"
	bootstrapUserPrefix      = "system:bootstrap:"
	bootstrapGroup           = "system:bootstrappers"
)

var (
	bootstrapToken      = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	bootstrapExtraGroup = regexp.MustCompile(`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`)
)

// bootstrapTokens authenticates tokens of the form ID.SECRET by their Secrets.
type bootstrapTokens struct {
	secrets corev1client.SecretsGetter
	now     func() time.Time
}

// AuthenticateToken returns no user and no error for a token of another form, for a token without a Secret, and for a
// token with an invalid Secret. The client must not learn why a Secret is invalid.
func (b *bootstrapTokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	parts := bootstrapToken.FindStringSubmatch(token)
	if parts == nil {
		return nil, false, nil
	}
	id, want := parts[1], parts[2]
	secret, err := b.secrets.Secrets(metav1.NamespaceSystem).Get(ctx, bootstrapTokenNamePrefix+id, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	data := func(key string) string { return string(secret.Data[key]) }
	switch {
	case secret.DeletionTimestamp != nil,
		secret.Type != bootstrapTokenType,
		subtle.ConstantTimeCompare([]byte(data("token-secret")), []byte(want)) != 1,
		data("token-id") != id,
		b.expired(data("expiration")),
		data("usage-bootstrap-authentication") != "true":
		return nil, false, nil
	}
	groups := sets.New(bootstrapGroup)
	if extra := data("auth-extra-groups"); extra != "" {
		for group := range strings.SplitSeq(extra, ",") {
			if !bootstrapExtraGroup.MatchString(group) {
				return nil, false, nil
			}
			groups.Insert(group)
		}
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: bootstrapUserPrefix + id, Groups: sets.List(groups)}}, true, nil
}

// expired tells whether the expiration of a Secret is in the past. An empty expiration isn't past. A malformed
// expiration counts as past.
func (b *bootstrapTokens) expired(expiration string) bool {
	if expiration == "" {
		return false
	}
	end, err := time.Parse(time.RFC3339, expiration)
	return err != nil || !b.now().Before(end)
}
