package authn

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

// Validate returns all errors in the flags. It doesn't read files: [Options.ValidateFiles] and [Options.ApplyTo] do.
func (o *Options) Validate() []error {
	if o == nil {
		return nil
	}
	var errs []error
	errs = append(errs, o.RequestHeader.Validate()...)
	errs = append(errs, o.ServiceAccounts.validate()...)
	errs = append(errs, o.Webhook.validate()...)
	switch given := o.OIDC.given(); {
	case given && o.ConfigFile != "":
		errs = append(errs, fmt.Errorf("--authentication-config %s: can't be given together with --oidc-* flags: name the OIDC issuers in the file", o.ConfigFile))
	case given:
		errs = append(errs, o.OIDC.validate()...)
	}
	if slices.Contains(o.APIAudiences, "") {
		errs = append(errs, fmt.Errorf("--api-audiences %q: an audience is empty: give each audience a name", strings.Join(o.APIAudiences, ",")))
	}
	return errs
}

// ValidateConfiguration returns all errors in the file of --authentication-config, or in the configuration of the
// --oidc-* flags.
func (o *Options) ValidateConfiguration() error {
	_, _, err := o.configuration()
	return err
}

func (o *ServiceAccountOptions) validate() []error {
	var errs []error
	if len(o.Issuers) == 0 {
		errs = append(errs, errors.New("--service-account-issuer: must be set, as in https://kubernetes.default.svc"))
	}
	for i, issuer := range o.Issuers {
		if issuer == "" {
			errs = append(errs, errors.New("--service-account-issuer \"\": must not be empty"))
		}
		// An issuer may be any string, but an issuer with a colon must be a URL (RFC 7519, StringOrURI).
		if strings.Contains(issuer, ":") {
			if _, err := url.Parse(issuer); err != nil {
				errs = append(errs, fmt.Errorf("--service-account-issuer %q contains a ':' but is not a valid URL: %w", issuer, err))
			}
		}
		if slices.Contains(o.Issuers[:i], issuer) {
			errs = append(errs, fmt.Errorf("--service-account-issuer %q is given twice: give each issuer once", issuer))
		}
	}
	if o.JWKSURI != "" {
		if uri, err := url.Parse(o.JWKSURI); err != nil {
			errs = append(errs, fmt.Errorf("--service-account-jwks-uri %q: must be an https URL: %w", o.JWKSURI, err))
		} else if uri.Scheme != "https" {
			errs = append(errs, fmt.Errorf("--service-account-jwks-uri %q must be an https URL", o.JWKSURI))
		}
	}
	const longest = time.Duration(1<<32) * time.Second
	if o.MaxExpiration != 0 && (o.MaxExpiration < time.Hour || o.MaxExpiration > longest) {
		errs = append(errs, fmt.Errorf("--service-account-max-token-expiration %s: must be between 1 hour and 2^32 seconds", o.MaxExpiration))
	}
	return errs
}

func (o *WebhookOptions) validate() []error {
	var errs []error
	if o.Version != "v1" && o.Version != "v1beta1" {
		errs = append(errs, fmt.Errorf("--authentication-token-webhook-version %q must be v1 or v1beta1", o.Version))
	}
	if o.CacheTTL < 0 {
		errs = append(errs, fmt.Errorf("--authentication-token-webhook-cache-ttl %s: must not be negative", o.CacheTTL))
	}
	return errs
}

func (o *OIDCOptions) validate() []error {
	var errs []error
	if o.IssuerURL == "" || o.ClientID == "" {
		errs = append(errs, fmt.Errorf("--oidc-issuer-url %q and --oidc-client-id %q: both must be set if any --oidc-* flag is set", o.IssuerURL, o.ClientID))
	}
	for _, required := range []struct{ flag, value string }{
		{"--oidc-username-claim", o.UsernameClaim},
		{"--oidc-signing-algs", strings.Join(o.SigningAlgs, ",")},
	} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("%s \"\": must not be empty", required.flag))
		}
	}
	for _, alg := range o.SigningAlgs {
		if valid := oidc.AllValidSigningAlgorithms(); !slices.Contains(valid, alg) {
			errs = append(errs, fmt.Errorf("--oidc-signing-algs: %q must be one of %s", alg, strings.Join(valid, ", ")))
		}
	}
	return errs
}

func validateConfiguration(o *Options, config *apiserver.AuthenticationConfiguration) field.ErrorList {
	return validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), config, o.ServiceAccounts.Issuers)
}

// oidcFlags maps fields of the AuthenticationConfiguration to the --oidc-* flags.
var oidcFlags = []struct{ field, flag string }{
	{"jwt[0].issuer.url", "--oidc-issuer-url"},
	{"jwt[0].issuer.audiences", "--oidc-client-id"},
	{"jwt[0].issuer.certificateAuthority", "--oidc-ca-file"},
	{"jwt[0].claimMappings.username", "--oidc-username-claim"},
	{"jwt[0].claimMappings.groups", "--oidc-groups-claim"},
	{"jwt[0].claimValidationRules", "--oidc-required-claim"},
	{"jwt", "--oidc-*"},
}

// inFlags replaces the names of fields in errors by the names of flags, because a user of the --oidc-* flags doesn't
// write the fields.
func inFlags(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		for _, known := range oidcFlags {
			if strings.HasPrefix(err.Field, known.field) {
				err.Field = known.flag
				break
			}
		}
	}
	return errs
}
