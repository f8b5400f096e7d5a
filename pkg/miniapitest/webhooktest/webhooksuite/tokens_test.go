package webhooksuite_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

const issuer = "https://kubernetes.default.svc"

// claims are the claims of a token that a webhook checks.
type claims struct {
	Issuer     string   `json:"iss"`
	Audience   []string `json:"aud"`
	Expires    int64    `json:"exp"`
	Kubernetes struct {
		Validating   *struct{}           `json:"validatingwebhookconfiguration"`
		Mutating     *struct{}           `json:"mutatingwebhookconfiguration"`
		Attestations map[string][]string `json:"attestations"`
	} `json:"kubernetes.io"`
}

// checks are the checks of a webhook that authenticates its callers, in the order of KEP-6060.
var checks = map[string]func(c *claims, audience, group string) bool{
	"audience": func(c *claims, audience, _ string) bool { return slices.Contains(c.Audience, audience) },
	"expired":  func(c *claims, _, _ string) bool { return time.Now().Unix() < c.Expires },
	"unbound": func(c *claims, _, _ string) bool {
		return (c.Kubernetes.Validating == nil) != (c.Kubernetes.Mutating == nil)
	},
	"group": func(c *claims, _, group string) bool {
		groups := c.Kubernetes.Attestations["admissionReviewAPIGroups"]
		return len(groups) == 1 && (groups[0] == "*" || groups[0] == group)
	},
}

// verified returns the claims of the token in a request, or false if the token is missing or has a wrong signature.
func verified(r *http.Request, key *ecdsa.PublicKey, without string) (*claims, bool) {
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	if len(parts) != 3 {
		return &claims{}, false
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signed := len(signature) == 64 && ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	c := &claims{}
	return c, json.Unmarshal(payload, c) == nil && c.Issuer == issuer && (signed || without == "key")
}

// checking returns a webhook that checks tokens, except for the check with the name without.
func checking(key *ecdsa.PublicKey, audience, without string) http.Handler {
	h := good()
	decide := h.decide
	h.decide = func(e *exchange) {
		decide(e)
		c, is := verified(e.http, key, without)
		group, _ := at(e.request, "resource", "group").(string)
		if without == "missing" && e.http.Header.Get("Authorization") == "" {
			return
		}
		for name, check := range checks {
			// A token that is bound to no configuration attests nothing.
			is = is && (name == without || without == "unbound" && c.Kubernetes.Attestations == nil && name == "group" || check(c, audience, group))
		}
		if !is {
			e.code = http.StatusUnauthorized
		}
	}
	return h
}

// TestTokens checks webhooks that check tokens. A webhook that leaves out one check fails the case of that check alone.
func TestTokens(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const audience = "https://hook.example.com/"
	url := audience
	for _, test := range []struct {
		without, reason string
		want            []string
	}{
		{"", "the webhook checks everything", nil},
		{"missing", "anyone who reaches the webhook can call it", []string{"token.missing"}},
		{"key", "anyone can sign a token", []string{"token.key"}},
		{"audience", "the tokens of another webhook are good for this one", []string{"token.audience", "token.configuration"}},
		{"expired", "a token that has leaked stays good for ever", []string{"token.expired"}},
		{"unbound", "anyone can request a token with any audience", []string{"token.unbound"}},
		{"group", "an aggregated API server can ask about all objects", []string{"token.group"}},
	} {
		t.Run(test.without, func(t *testing.T) {
			t.Parallel()
			suite := served(t, checking(&key.PublicKey, audience, test.without), func(h *webhooksuite.Hook) {
				h.Entry.ClientConfig.Service, h.Entry.ClientConfig.URL = nil, &url
			})
			suite.Tokens = &webhooksuite.Tokens{Issuer: issuer, Key: key}
			var failed []string
			for _, c := range webhooksuite.Cases() {
				if !strings.HasPrefix(c.ID, "token.") && !strings.HasPrefix(c.ID, "response.") {
					continue
				}
				findings, err := c.Run(context.Background(), suite)
				if err != nil && !asSkipped(err, new(webhooksuite.Skipped)) {
					t.Errorf("%s: %v", c.ID, err)
				}
				for _, f := range findings {
					if f.Level == webhooksuite.LevelError {
						failed = append(failed, c.ID)
					}
				}
			}
			slices.Sort(failed)
			if !slices.Equal(failed, test.want) {
				t.Errorf("%s: the cases %v fail, want %v", test.reason, failed, test.want)
			}
		})
	}
	t.Run("refusing", func(t *testing.T) {
		t.Parallel()
		suite := served(t, checking(&key.PublicKey, "https://another.example.com/", ""), func(h *webhooksuite.Hook) {
			h.Entry.ClientConfig.Service, h.Entry.ClientConfig.URL = nil, &url
		})
		suite.Tokens = &webhooksuite.Tokens{Issuer: issuer, Key: key}
		for _, c := range webhooksuite.Cases() {
			if c.ID != "token.accepted" {
				continue
			}
			if findings, err := c.Run(context.Background(), suite); err != nil || len(findings) == 0 {
				t.Errorf("a webhook that refuses good tokens passes: %v, %v", findings, err)
			}
		}
	})
	t.Run("without tokens", func(t *testing.T) {
		t.Parallel()
		suite := served(t, good())
		for _, c := range webhooksuite.Cases() {
			var skipped webhooksuite.Skipped
			if _, err := c.Run(context.Background(), suite); strings.HasPrefix(c.ID, "token.") && !errors.As(err, &skipped) {
				t.Errorf("%s isn't skipped for a webhook that checks no tokens: %v", c.ID, err)
			}
		}
	})
}
