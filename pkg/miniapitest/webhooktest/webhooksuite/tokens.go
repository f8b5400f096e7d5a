package webhooksuite

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Tokens signs tokens as an API server does that authenticates itself to webhooks (KEP-6060). A webhook that checks tokens
// must trust the issuer and the key.
type Tokens struct {
	// Issuer is the claim iss: the --service-account-issuer of the API server.
	Issuer string
	// Key is an RSA key or an ECDSA key of the curve P-256: the --service-account-signing-key-file of the API server.
	Key crypto.Signer
}

// Audience returns the audience of the tokens for a webhook: its URL, or the URL https://SERVICE.NAMESPACE.svc:PORT/PATH.
func Audience(client admissionregistrationv1.WebhookClientConfig) string {
	switch {
	case client.URL != nil:
		return *client.URL
	case client.Service == nil:
		return ""
	}
	port, path := int32(443), ""
	if client.Service.Port != nil {
		port = *client.Service.Port
	}
	if client.Service.Path != nil {
		path = strings.TrimPrefix(*client.Service.Path, "/")
	}
	return fmt.Sprintf("https://%s.%s.svc:%d/%s", client.Service.Name, client.Service.Namespace, port, path)
}

// token has the claims of a token that differ between cases.
type token struct {
	audience string
	issued   time.Time
	// configuration is the claim of the webhook configuration, or "" for a token that isn't bound to one. name is the
	// name of the configuration.
	configuration, name string
	// groups are the API groups that the token attests.
	groups []string
}

// tokenLifetime is the lifetime of a token of an API server.
const tokenLifetime = 10 * time.Minute

// goodToken returns the claims of an API server's token for a webhook.
func (h *Hook) goodToken() token {
	t := token{
		audience: Audience(h.Entry.ClientConfig), issued: time.Now(), groups: []string{"*"},
		configuration: "validatingwebhookconfiguration", name: h.Name,
	}
	if h.Kind == Mutating {
		t.configuration = "mutatingwebhookconfiguration"
	}
	if h.Configuration != nil {
		t.name = h.Configuration.Name
	}
	if t.audience == "" {
		t.audience = h.Endpoint.URL
	}
	return t
}

// sign returns a token in the compact form of a JSON Web Token.
func (t *Tokens) sign(c token) (string, error) {
	kubernetes := map[string]any{
		"namespace":      "kube-system",
		"serviceaccount": map[string]string{"name": "webhook-auth", "uid": "6b0a6f0e-9d0b-4f0e-8a53-2f4c5a0f6f01"},
	}
	if c.configuration != "" {
		kubernetes[c.configuration] = map[string]string{"name": c.name, "uid": "b0f1b456-6f90-4546-b72c-d9000e5dead1"}
		kubernetes["attestations"] = map[string]any{"admissionReviewAPIGroups": c.groups}
	}
	der, err := x509.MarshalPKIXPublicKey(t.Key.Public())
	if err != nil {
		return "", fmt.Errorf("the key that signs tokens: %w", err)
	}
	algorithm := "RS256"
	if _, is := t.Key.Public().(*ecdsa.PublicKey); is {
		algorithm = "ES256"
	}
	id := sha256.Sum256(der)
	var parts []string
	for _, part := range []any{
		map[string]string{"alg": algorithm, "kid": base64.RawURLEncoding.EncodeToString(id[:])},
		map[string]any{
			"iss": t.Issuer, "sub": "system:serviceaccount:kube-system:webhook-auth", "aud": []string{c.audience},
			"iat": c.issued.Unix(), "nbf": c.issued.Unix(), "exp": c.issued.Add(tokenLifetime).Unix(), "kubernetes.io": kubernetes,
		},
	} {
		encoded, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		parts = append(parts, base64.RawURLEncoding.EncodeToString(encoded))
	}
	digest := sha256.Sum256([]byte(strings.Join(parts, ".")))
	signature, err := t.signature(digest[:])
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return strings.Join(append(parts, base64.RawURLEncoding.EncodeToString(signature)), "."), nil
}

// signature returns the signature of a SHA-256 digest in the form of RFC 7518.
func (t *Tokens) signature(digest []byte) ([]byte, error) {
	switch key := t.Key.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, digest)
		if err != nil {
			return nil, err
		}
		signature := make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
		return signature, nil
	case *rsa.PrivateKey:
		return rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest)
	}
	return nil, fmt.Errorf("a key of the type %T: must be an RSA key or an ECDSA key", t.Key)
}

// presenting is a transport that presents a good token with requests that have no header Authorization. A request whose
// header is empty is sent without it.
type presenting struct {
	http.RoundTripper
	tokens *Tokens
	hook   *Hook
}

// CloseIdleConnections closes the idle connections of the transport, for http.Client.
func (p presenting) CloseIdleConnections() {
	(&http.Client{Transport: p.RoundTripper}).CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper.
func (p presenting) RoundTrip(req *http.Request) (*http.Response, error) {
	credentials, set := req.Header["Authorization"]
	if set && credentials[0] != "" {
		return p.RoundTripper.RoundTrip(req)
	}
	req = req.Clone(req.Context()) // a RoundTripper must not change the request
	req.Header.Del("Authorization")
	if !set {
		signed, err := p.tokens.sign(p.hook.goodToken())
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+signed)
	}
	return p.RoundTripper.RoundTrip(req)
}
