package authn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/server/outgoing"
)

// issuer authenticates the JWTs of one issuer other than the server. The function ready returns an error until the
// authenticator has read the URL of the issuer's keys.
type issuer struct {
	authenticator.Token
	ready func() error
}

// issuers makes authenticators for the JWTs of the configured issuers. A call of end, or the end of ctx, ends their
// background work and their connections.
func (o *Options) issuers(ctx context.Context, configured []apiserver.JWTAuthenticator, env Environment) (_ []issuer, end context.CancelFunc, err error) {
	open, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	var issuers []issuer
	for _, one := range configured {
		token, err := newJWT(open, o, one, env)
		if err != nil {
			return nil, nil, fmt.Errorf("JWT issuer %s: %w", one.Issuer.URL, err)
		}
		issuers = append(issuers, issuer{agnostic(o, token), token.HealthCheck})
	}
	return issuers, cancel, nil
}

func newJWT(open context.Context, o *Options, configured apiserver.JWTAuthenticator, env Environment) (oidc.AuthenticatorTokenWithHealthCheck, error) {
	options := oidc.Options{
		JWTAuthenticator:  configured,
		DisallowedIssuers: o.ServiceAccounts.Issuers,
		APIServerID:       env.APIServerID,
		// The configuration file has no setting for the algorithms, so all asymmetric algorithms are allowed.
		SupportedSigningAlgs: oidc.AllValidSigningAlgorithms(),
	}
	if o.ConfigFile == "" {
		options.SupportedSigningAlgs = o.OIDC.SigningAlgs
	}
	if selector := configured.Issuer.EgressSelectorType; selector != "" {
		return nil, fmt.Errorf("egressSelectorType %q: leave the field out, because this server doesn't have the flag --egress-selector-config-file", selector)
	}
	var err error
	options.Client, err = issuerClient(open, configured.Issuer.CertificateAuthority)
	if err != nil {
		return nil, err
	}
	return oidc.New(open, options)
}

// issuerClient returns an HTTP client with the settings of the default client of package oidc in k8s.io/apiserver. Its
// connections end with the context "open".
func issuerClient(open context.Context, authority string) (*http.Client, error) {
	var roots *x509.CertPool // nil stands for the authorities that the operating system trusts
	if authority != "" {
		var err error
		if roots, err = certutil.NewPoolFromBytes([]byte(authority)); err != nil {
			return nil, fmt.Errorf("the certificate authority of the issuer must be certificates in PEM: %w", err)
		}
	}
	transport := utilnet.SetTransportDefaults(&http.Transport{
		DialContext: outgoing.New(open).Dial, TLSClientConfig: &tls.Config{RootCAs: roots},
	})
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}, nil
}

// jwtAuthenticator returns the --oidc-* flags as an issuer of an AuthenticationConfiguration.
func (o *OIDCOptions) jwtAuthenticator() (apiserver.JWTAuthenticator, error) {
	prefix := o.UsernamePrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && o.UsernameClaim != "email":
		prefix = o.IssuerURL + "#" // claims other than the e-mail address are unique only within one issuer
	}
	authenticator := apiserver.JWTAuthenticator{
		Issuer:        apiserver.Issuer{URL: o.IssuerURL, Audiences: []string{o.ClientID}},
		ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Prefix: &prefix, Claim: o.UsernameClaim}},
	}
	if o.GroupsClaim != "" {
		authenticator.ClaimMappings.Groups = apiserver.PrefixedClaimOrExpression{Prefix: &o.GroupsPrefix, Claim: o.GroupsClaim}
	}
	for _, claim := range slices.Sorted(maps.Keys(o.RequiredClaims)) {
		authenticator.ClaimValidationRules = append(authenticator.ClaimValidationRules,
			apiserver.ClaimValidationRule{Claim: claim, RequiredValue: o.RequiredClaims[claim]})
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return authenticator, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		if len(pem) == 0 {
			return authenticator, fmt.Errorf("--oidc-ca-file %s: the file is empty: must have certificates in PEM", o.CAFile)
		}
		authenticator.Issuer.CertificateAuthority = string(pem)
	}
	return authenticator, nil
}
