package authn

import (
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
)

// defaultIssuer is the issuer of service account tokens unless --service-account-issuer names another issuer.
const defaultIssuer = "https://kubernetes.default.svc.cluster.local"

// healthPaths are the paths that allow anonymous requests by default, because probes have no credentials.
func healthPaths() []string { return []string{"/healthz", "/livez", "/readyz", "/version"} }

// Options are the flags of authentication, under kube-apiserver's names. The zero value is not ready for
// use: call [NewOptions].
type Options struct {
	// ClientCAFile has certificate authorities. A client certificate of one of these authorities authenticates a user.
	ClientCAFile string
	// TokenFile is a CSV file with the columns token, user and uid, and optionally groups.
	TokenFile string
	// APIAudiences are the audiences of tokens for this server. By default, they are the service account issuers.
	APIAudiences []string
	// BootstrapTokens lets Secrets of type bootstrap.kubernetes.io/token authenticate.
	BootstrapTokens bool
	// ConfigFile is the path of an AuthenticationConfiguration (KEP-3331).
	ConfigFile string

	Anonymous       AnonymousOptions
	RequestHeader   genericoptions.RequestHeaderAuthenticationOptions
	ServiceAccounts ServiceAccountOptions
	Webhook         WebhookOptions
	OIDC            OIDCOptions

	// TokenSuccessCacheTTL is the time for which an accepted bearer token isn't checked again.
	TokenSuccessCacheTTL time.Duration

	flags *pflag.FlagSet
}

// AnonymousOptions say which requests are allowed without credentials. The user of such a request is system:anonymous.
type AnonymousOptions struct {
	// Allow is --anonymous-auth.
	Allow bool
	// DefaultPaths are the only paths that allow anonymous requests if --anonymous-auth isn't given. If DefaultPaths
	// is nil, all paths allow anonymous requests, as in kube-apiserver by default.
	DefaultPaths []string
}

// ServiceAccountOptions are the --service-account-* flags.
type ServiceAccountOptions struct {
	// Issuers are the accepted issuers. New tokens have the first issuer.
	Issuers []string
	// KeyFiles have the keys that verify service account tokens.
	KeyFiles []string
	// SigningKeyFile is the file of the key that signs tokens. By default, Environment.SigningKey is the key. If that
	// is nil, the server generates a key.
	SigningKeyFile string
	// Lookup refuses a token that was made for a Secret (a legacy token) unless the Secret still has the token and the
	// account exists. It also refuses the token if the Secret has the label kubernetes.io/legacy-token-invalid-since.
	Lookup bool
	// MaxExpiration caps the lifetime of tokens; zero means no cap.
	MaxExpiration time.Duration
	// ExtendExpiration makes the tokens in the volume that admission adds to a pod valid for a year.
	ExtendExpiration bool
	// JWKSURI overrides the address of the keys in the discovery document.
	JWKSURI string
}

// WebhookOptions are the --authentication-token-webhook-* flags.
type WebhookOptions struct {
	// ConfigFile is a kubeconfig with the URL of the webhook, which receives TokenReviews.
	ConfigFile string
	// Version is the version of the TokenReviews: v1 or v1beta1.
	Version string
	// CacheTTL is the time for which the server caches answers of the webhook.
	CacheTTL time.Duration
}

// OIDCOptions are the --oidc-* flags: one JWT issuer, without a configuration file.
type OIDCOptions struct {
	IssuerURL, ClientID           string
	CAFile                        string
	UsernameClaim, UsernamePrefix string
	GroupsClaim, GroupsPrefix     string
	SigningAlgs                   []string
	RequiredClaims                map[string]string
}

// NewOptions returns the defaults. They are kube-apiserver's, with two differences: anonymous requests are allowed only
// at /version and the paths of health checks, and service account tokens need no flag.
func NewOptions() *Options {
	return &Options{
		Anonymous: AnonymousOptions{Allow: true, DefaultPaths: healthPaths()},
		ServiceAccounts: ServiceAccountOptions{
			Issuers:          []string{defaultIssuer},
			Lookup:           true,
			ExtendExpiration: true,
		},
		Webhook:              WebhookOptions{Version: "v1beta1", CacheTTL: 2 * time.Minute},
		OIDC:                 OIDCOptions{UsernameClaim: "sub", SigningAlgs: []string{"RS256"}},
		TokenSuccessCacheTTL: 10 * time.Second,
	}
}

// AddFlags registers the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	if o == nil {
		return
	}
	o.flags = fs
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"Authenticate requests whose client certificate is signed by one of the authorities in this file, as the certificate's common name.")
	fs.StringVar(&o.TokenFile, "token-auth-file", o.TokenFile,
		"Authenticate bearer tokens by this CSV file: token,user,uid,\"group1,group2\".")
	fs.BoolVar(&o.Anonymous.Allow, "anonymous-auth", o.Anonymous.Allow,
		"Let requests without credentials in, as user system:anonymous of group system:unauthenticated."+o.Anonymous.defaultSentence())
	fs.StringSliceVar(&o.APIAudiences, "api-audiences", o.APIAudiences,
		"Audiences that the API server identifies as. By default, the service account issuers.")
	fs.BoolVar(&o.BootstrapTokens, "enable-bootstrap-token-auth", o.BootstrapTokens,
		"Authenticate TLS bootstrap tokens by Secrets of type bootstrap.kubernetes.io/token in namespace kube-system.")
	fs.StringVar(&o.ConfigFile, "authentication-config", o.ConfigFile,
		"File with an AuthenticationConfiguration: JWT issuers and anonymous access. Excludes --oidc-*.")
	o.RequestHeader.AddFlags(fs)
	o.ServiceAccounts.addFlags(fs)
	o.Webhook.addFlags(fs)
	o.OIDC.addFlags(fs)
}

func (o *ServiceAccountOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&o.Issuers, "service-account-issuer", o.Issuers,
		"Issuer of service account tokens. May be given several times: new tokens have the first issuer, and tokens of all issuers are accepted.")
	fs.StringArrayVar(&o.KeyFiles, "service-account-key-file", o.KeyFiles,
		"File with PEM encoded RSA or ECDSA keys, private or public, that verify service account tokens. May be given several times. By default, the signing key.")
	fs.StringVar(&o.SigningKeyFile, "service-account-signing-key-file", o.SigningKeyFile,
		"File with the private key that signs service account tokens. Without it, the server has a key of its own.")
	fs.BoolVar(&o.Lookup, "service-account-lookup", o.Lookup,
		"Check that the Secret of a legacy service account token exists.")
	fs.DurationVar(&o.MaxExpiration, "service-account-max-token-expiration", o.MaxExpiration,
		"Longest lifetime of a service account token. Requests for more are shortened to it.")
	fs.BoolVar(&o.ExtendExpiration, "service-account-extend-token-expiration", o.ExtendExpiration,
		"Let the service account tokens that kubelets mount into pods live for a year.")
	fs.StringVar(&o.JWKSURI, "service-account-jwks-uri", o.JWKSURI,
		"Address of the public keys in the discovery document at /.well-known/openid-configuration.")
}

func (o *WebhookOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "authentication-token-webhook-config-file", o.ConfigFile,
		"File in kubeconfig format with the webhook that reviews bearer tokens.")
	fs.StringVar(&o.Version, "authentication-token-webhook-version", o.Version,
		"Version of authentication.k8s.io TokenReview that the webhook is sent.")
	fs.DurationVar(&o.CacheTTL, "authentication-token-webhook-cache-ttl", o.CacheTTL,
		"For how long the server caches the webhook's answers.")
}

func (o *OIDCOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.IssuerURL, "oidc-issuer-url", o.IssuerURL, "Issuer of the JWTs to accept. It must be an https URL.")
	fs.StringVar(&o.ClientID, "oidc-client-id", o.ClientID, "Audience that the JWTs must be for.")
	fs.StringVar(&o.CAFile, "oidc-ca-file", o.CAFile, "Authorities for the issuer's certificate. By default, the host's.")
	fs.StringVar(&o.UsernameClaim, "oidc-username-claim", o.UsernameClaim, "JWT claim with the user's name.")
	fs.StringVar(&o.UsernamePrefix, "oidc-username-prefix", o.UsernamePrefix,
		"Prefix of user names. By default, the issuer's URL for claims other than 'email'; '-' for none.")
	fs.StringVar(&o.GroupsClaim, "oidc-groups-claim", o.GroupsClaim, "JWT claim with the user's groups.")
	fs.StringVar(&o.GroupsPrefix, "oidc-groups-prefix", o.GroupsPrefix, "Prefix of group names.")
	fs.StringSliceVar(&o.SigningAlgs, "oidc-signing-algs", o.SigningAlgs, "Algorithms that JWTs may be signed with.")
	fs.Var(cliflag.NewMapStringStringNoSplit(&o.RequiredClaims), "oidc-required-claim",
		"A key=value that must be among the JWT's claims. May be given several times.")
}

// given tells whether the value of any --oidc-* flag differs from its default.
func (o *OIDCOptions) given() bool {
	defaults := NewOptions().OIDC
	return o.IssuerURL != "" || o.ClientID != "" || o.CAFile != "" || o.UsernamePrefix != "" ||
		o.GroupsClaim != "" || o.GroupsPrefix != "" || len(o.RequiredClaims) > 0 ||
		o.UsernameClaim != defaults.UsernameClaim ||
		!sets.New(o.SigningAlgs...).Equal(sets.New(defaults.SigningAlgs...))
}

// audiences returns the audiences of tokens for the API server: --api-audiences or, by default, the service account
// issuers.
func (o *Options) audiences() []string {
	if len(o.APIAudiences) > 0 {
		return o.APIAudiences
	}
	return o.ServiceAccounts.Issuers
}
