package authn

import (
	"context"
	"crypto"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	requestunion "k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/server/authn/serviceaccounttokens"
	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// Environment has the parts of the server that authentication needs.
type Environment struct {
	// Client reads the objects that tokens are bound to, and the Secrets of bootstrap tokens and legacy tokens. It also
	// records the use of legacy tokens in their Secrets. Only the authentication of requests uses the client, so it may
	// be a client of the server that is being built.
	Client corev1client.CoreV1Interface
	// Webhooks is like Client, and reads the webhook configurations that tokens are bound to.
	Webhooks admissionregistrationclient.AdmissionregistrationV1Interface
	// ClientCA has authorities for client certificates in addition to --client-ca-file. One is the server's own
	// authority, which signs the admin's certificate. ClientCA may be nil.
	ClientCA dynamiccertificates.CAContentProvider
	// SigningKey signs service account tokens, unless a flag names a file with the key. If there is neither, the
	// server generates a key.
	SigningKey crypto.Signer
	// APIServerID identifies the server in metrics.
	APIServerID string
}

// Applied has the parts of authentication that the rest of a server needs.
type Applied struct {
	// Tokens makes service account tokens for the serviceaccounts/token subresource.
	Tokens *serviceaccounttokens.TokenGenerator
	// Keys verify service account tokens.
	Keys serviceaccounttokens.KeySet
	// RequestHeader has the trusted front proxies. It is nil if there are none.
	RequestHeader *authenticatorfactory.RequestHeaderConfig
	// Config is the file of --authentication-config, or nil without one. The caller must call Config.Follow, which
	// reads the file again when the file changes.
	Config *reload.File

	clientCAs []dynamiccertificates.CAContentProvider
	jwksURI   string
}

// ClientCA returns the authorities for client certificates, or nil if there are none.
func (a *Applied) ClientCA() dynamiccertificates.CAContentProvider {
	switch len(a.clientCAs) {
	case 0:
		return nil
	case 1:
		return a.clientCAs[0]
	}
	return dynamiccertificates.NewUnionCAContentProvider(a.clientCAs...)
}

// Discovery returns the documents at serviceaccounttokens.ConfigurationPath and serviceaccounttokens.JWKSPath. The result is an
// error if the issuer isn't an https URL without a query and a fragment. kube-apiserver logs this error, and runs
// without these paths.
func (a *Applied) Discovery(externalAddress string) (*serviceaccounttokens.Discovery, error) {
	return serviceaccounttokens.NewDiscovery(a.Tokens.Issuer, a.jwksURI, externalAddress, a.Keys)
}

// ApplyTo builds the authenticator and puts it into a server's configuration. Authenticators that fetch keys
// in the background end with ctx, which must last as long as the server.
func (o *Options) ApplyTo(ctx context.Context, info *genericapiserver.AuthenticationInfo, serving *genericapiserver.SecureServingInfo, env Environment) (*Applied, error) {
	applied := &Applied{jwksURI: o.ServiceAccounts.JWKSURI}
	var err error
	if applied.Tokens, applied.Keys, err = o.serviceAccountTokens(env.SigningKey); err != nil {
		return nil, err
	}
	if applied.clientCAs, err = loadClientCAs(o, env.ClientCA); err != nil {
		return nil, err
	}
	if applied.RequestHeader, err = o.RequestHeader.ToAuthenticationRequestHeaderConfig(); err != nil {
		return nil, fmt.Errorf("--requestheader-client-ca-file %s: %w", o.RequestHeader.ClientCAFile, err)
	}
	config, data, err := o.configuration()
	if err != nil {
		return nil, err
	}
	known, err := o.bearerTokens(applied.Keys, env)
	if err != nil {
		return nil, err
	}
	issuers, end, err := o.issuers(ctx, config.JWT, env)
	if err != nil {
		return nil, err
	}
	token := known.with(issuers)
	if o.ConfigFile != "" {
		current := &reloaded{reload.NewCurrent(token, end)}
		token, applied.Config = current, followConfig(ctx, o, data, config, known, current, env)
	}

	info.APIAudiences = o.audiences()
	info.RequestHeaderConfig = applied.RequestHeader
	info.Authenticator = newRequest(o, applied, token, config.Anonymous)
	trusted := slices.Clone(applied.clientCAs)
	if applied.RequestHeader != nil {
		trusted = append(trusted, applied.RequestHeader.CAContentProvider)
	}
	for _, provider := range trusted {
		if err := info.ApplyClientCert(provider, serving); err != nil {
			return nil, fmt.Errorf("the authorities of --client-ca-file or --requestheader-client-ca-file: %w", err)
		}
	}
	return applied, nil
}

// newRequest joins all authenticators in kube-apiserver's order.
func newRequest(o *Options, applied *Applied, token authenticator.Token, anonymousConfig *apiserver.AnonymousAuthConfig) authenticator.Request {
	var requests []authenticator.Request
	if proxy := applied.RequestHeader; proxy != nil {
		requests = append(requests, authenticator.WrapAudienceAgnosticRequest(o.audiences(), headerrequest.NewDynamicVerifyOptionsSecure(
			proxy.CAContentProvider.VerifyOptions, proxy.AllowedClientNames,
			proxy.UsernameHeaders, proxy.UIDHeaders, proxy.GroupHeaders, proxy.ExtraHeaderPrefixes)))
	}
	// Each authority has a separate authenticator. A joint authenticator would parse the certificates of all
	// authorities again for each request.
	for _, authority := range applied.clientCAs {
		requests = append(requests, newClientCertAuthenticator(authority.VerifyOptions))
	}
	requests = append(requests, bearertoken.New(token), websocket.NewProtocolAuthenticator(token))
	request := group.NewAuthenticatedGroupAdder(requestunion.New(requests...))
	if anonymousConfig.Enabled {
		// A request with wrong credentials is refused, and doesn't become anonymous.
		request = requestunion.NewFailOnError(request, anonymous.NewAuthenticator(anonymousConfig.Conditions))
	}
	return request
}
