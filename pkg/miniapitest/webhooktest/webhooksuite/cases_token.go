package webhooksuite

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"
)

// tokenSource is the source of the promises about tokens.
const tokenSource = "KEP-6060, Token Verification"

// tokenCases returns the cases about the tokens by which an API server authenticates itself.
func tokenCases() []Case {
	return []Case{
		{
			ID: "token.accepted", Level: LevelError, Source: tokenSource,
			Promise: "A request with the API server's token for the webhook is answered.",
			Advice:  "Accept a token whose audience is the URL of the webhook, and that attests the API group * or that of the object.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.withTokens(func() ([]Finding, error) {
					return s.each(nil, func(in *Input) *Finding {
						group, _, _ := in.Resource()
						for _, groups := range [][]string{{"*"}, {group}} {
							good := s.hook(in).goodToken()
							good.groups = groups
							if code, err := s.present(ctx, in, good); err != nil || refused(code) {
								return &Finding{Seen: fmt.Sprintf("the HTTP status %d, to a token that attests %q (%v)", code, groups, err)}
							}
							if group == "" { // no token can attest the core group alone
								break
							}
						}
						return nil
					})
				})
			},
		},
		{
			ID: "token.missing", Level: LevelError, Source: tokenSource,
			Promise: "A request without a token is refused with the HTTP status 401.",
			Advice:  "Refuse reviews of unknown callers: anyone who can reach the webhook can send them.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.withTokens(func() ([]Finding, error) {
					return s.perHook(ctx, nil, func(in *Input) *Finding {
						got := s.askWith(ctx, in, "")
						return notRefused(got.code, got.err)
					})
				})
			},
		},
		refusedToken("token.audience", "A token for another audience is refused.", "Compare the claim aud with the URL of the webhook.",
			func(_ *Input, t *token) { t.audience = "https://another.example.com/" }),
		refusedToken("token.expired", "A token that has expired is refused.", "Compare the claim exp with the time, with a leeway of a minute at most.",
			func(_ *Input, t *token) { t.issued = t.issued.Add(-time.Hour) }),
		refusedToken("token.configuration", "The token of another webhook's configuration is refused.", "Compare the claim aud with the URL of the webhook: it is different for each webhook.",
			func(_ *Input, t *token) { t.name, t.audience = "another", "https://another.another.svc:443/" }),
		refusedToken("token.unbound", "A token that is bound to no webhook configuration is refused.",
			"Require one of the claims validatingwebhookconfiguration and mutatingwebhookconfiguration: anyone may request other tokens with any audience.",
			func(_ *Input, t *token) { t.configuration = "" }),
		refusedToken("token.group", "A token that attests another API group than that of the object is refused.",
			"Compare the claim attestations.admissionReviewAPIGroups with the group in request.resource: an aggregated API server may ask about its own objects only.",
			func(_ *Input, t *token) { t.groups = []string{"another.example.com"} }),
		{
			ID: "token.key", Level: LevelError, Source: tokenSource,
			Promise: "A token with the signature of another key is refused.",
			Advice:  "Verify the signature by the keys of the issuer, which /openid/v1/jwks of the API server has.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.withTokens(func() ([]Finding, error) {
					key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
					if err != nil {
						return nil, err
					}
					forged := &Tokens{Issuer: s.Tokens.Issuer, Key: key}
					return s.perHook(ctx, nil, func(in *Input) *Finding {
						return notRefused(s.presentBy(ctx, forged, in, s.hook(in).goodToken()))
					})
				})
			},
		},
	}
}

// refusedToken returns a case about a token that a webhook must refuse. The function spoil changes a good token.
func refusedToken(id, promise, advice string, spoil func(*Input, *token)) Case {
	return Case{
		ID: id, Level: LevelError, Source: tokenSource, Promise: promise, Advice: advice,
		try: func(ctx context.Context, s *Suite) ([]Finding, error) {
			return s.withTokens(func() ([]Finding, error) {
				return s.perHook(ctx, nil, func(in *Input) *Finding {
					t := s.hook(in).goodToken()
					spoil(in, &t)
					return notRefused(s.present(ctx, in, t))
				})
			})
		},
	}
}

// withTokens calls try, unless the suite has no tokens.
func (s *Suite) withTokens(try func() ([]Finding, error)) ([]Finding, error) {
	if s.Tokens == nil {
		return nil, skipped("the suite has no key that signs tokens: only webhooks that check tokens need one")
	}
	for i := range s.Hooks {
		if s.Hooks[i].Endpoint.Transport != nil {
			return nil, skipped("webhook %s is called through an API server, which passes on no token", s.Hooks[i].Name)
		}
	}
	return try()
}

// present sends an input with a token, and returns the HTTP status of the answer.
func (s *Suite) present(ctx context.Context, in *Input, t token) (int, error) {
	return s.presentBy(ctx, s.Tokens, in, t)
}

func (s *Suite) presentBy(ctx context.Context, tokens *Tokens, in *Input, t token) (int, error) {
	signed, err := tokens.sign(t)
	if err != nil {
		return 0, err
	}
	got := s.askWith(ctx, in, "Bearer "+signed)
	return got.code, got.err
}

// askWith sends a review with a header Authorization. If the header is "", the review has none.
func (s *Suite) askWith(ctx context.Context, in *Input, credentials string) reply {
	r := in.review()
	return s.hook(in).send(ctx, s.client(in.Hook), message{body: bytes.NewReader(r.body), credentials: &credentials})
}

func refused(code int) bool { return code == http.StatusUnauthorized || code == http.StatusForbidden }

// notRefused returns a finding unless the answer is a refusal of the caller.
func notRefused(code int, err error) *Finding {
	switch {
	case err != nil:
		return &Finding{Seen: err.Error()}
	case refused(code):
		return nil
	}
	return &Finding{Seen: fmt.Sprintf("the HTTP status %d instead of 401 or 403", code)}
}
