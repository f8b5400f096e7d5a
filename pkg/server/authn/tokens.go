package authn

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"

	"github.com/miniapi-dev/miniapi/pkg/server/authn/serviceaccounttokens"
)

// bearerTokens are authenticators of bearer tokens, in kube-apiserver's order. The list "before" comes first. The
// authenticators of JWT issuers follow, which the method "with" adds. The list "after" comes last.
type bearerTokens struct {
	before, after []authenticator.Token
	successTTL    time.Duration
}

// with joins the authenticators and the JWT issuers to one authenticator. The result has a new cache of accepted
// tokens, because other issuers may accept other tokens.
func (t *bearerTokens) with(issuers []issuer) authenticator.Token {
	tokens := slices.Clone(t.before)
	for _, issuer := range issuers {
		tokens = append(tokens, issuer.Token)
	}
	token := tokenunion.New(append(tokens, t.after...)...)
	if t.successTTL > 0 {
		token = tokencache.New(token, true, t.successTTL, 0)
	}
	return token
}

// agnostic wraps an authenticator that doesn't check the audiences of tokens. Each token that it accepts counts as a
// token for the audiences of the API server.
func agnostic(o *Options, token authenticator.Token) authenticator.Token {
	return authenticator.WrapAudienceAgnosticToken(o.audiences(), token)
}

func (o *Options) bearerTokens(keys serviceaccounttokens.KeySet, env Environment) (*bearerTokens, error) {
	tokens := &bearerTokens{successTTL: o.TokenSuccessCacheTTL}
	if o.TokenFile != "" {
		file, err := tokenfile.NewCSV(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-auth-file %s: %w", o.TokenFile, err)
		}
		tokens.before = append(tokens.before, agnostic(o, file))
	}
	tokens.before = append(tokens.before, &serviceaccounttokens.Authenticator{
		Issuers: o.ServiceAccounts.Issuers, Keys: keys, Audiences: o.audiences(),
		Objects: env.Client, Webhooks: env.Webhooks, LookupLegacy: o.ServiceAccounts.Lookup,
	})
	if o.BootstrapTokens {
		tokens.before = append(tokens.before, agnostic(o, &bootstrapTokens{secrets: env.Client, now: time.Now}))
	}
	if o.Webhook.ConfigFile != "" {
		token, err := newWebhook(o)
		if err != nil {
			return nil, err
		}
		tokens.after = append(tokens.after, token)
	}
	return tokens, nil
}
