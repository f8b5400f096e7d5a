package authentication

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
)

// configuration is the AuthenticationConfiguration that the flags, or the file of --authentication-config,
// stand for.
func (o *Options) configuration() (*apiserver.AuthenticationConfiguration, error) {
	config := &apiserver.AuthenticationConfiguration{}
	switch {
	case o.ConfigFile != "":
		var err error
		if config, err = loadConfiguration(o.ConfigFile); err != nil {
			return nil, fmt.Errorf("--authentication-config: %w", err)
		}
		if config.Anonymous != nil && o.anonymousGiven() {
			return nil, fmt.Errorf("--anonymous-auth can't be given when %s has a field anonymous", o.ConfigFile)
		}
	case o.OIDC.IssuerURL != "":
		issuer, err := o.OIDC.jwtAuthenticator()
		if err != nil {
			return nil, err
		}
		config.JWT = []apiserver.JWTAuthenticator{issuer}
	}
	if config.Anonymous == nil {
		config.Anonymous = o.anonymous()
	}
	if o.ConfigFile == "" && len(config.JWT) == 0 {
		return config, nil // spare every start the CEL environment
	}
	if errs := validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), config, o.ServiceAccounts.Issuers); len(errs) > 0 {
		source := "--oidc-*"
		if o.ConfigFile != "" {
			source = "--authentication-config " + o.ConfigFile
		}
		return nil, fmt.Errorf("%s: %w", source, errs.ToAggregate())
	}
	return config, nil
}

func loadConfiguration(file string) (*apiserver.AuthenticationConfiguration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s is empty", file)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	object, err := runtime.Decode(decoder, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	config, ok := object.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s: expected an AuthenticationConfiguration, got %T", file, object)
	}
	return config, nil
}

// anonymous is what the flags say of requests without credentials.
func (o *Options) anonymous() *apiserver.AnonymousAuthConfig {
	config := &apiserver.AnonymousAuthConfig{Enabled: o.Anonymous.Allow}
	if o.Anonymous.Allow && !o.anonymousGiven() {
		for _, path := range o.Anonymous.DefaultPaths {
			config.Conditions = append(config.Conditions, apiserver.AnonymousAuthCondition{Path: path})
		}
	}
	return config
}

// jwtAuthenticator is the structured form of the --oidc-* flags.
func (o *OIDCOptions) jwtAuthenticator() (apiserver.JWTAuthenticator, error) {
	prefix := o.UsernamePrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && o.UsernameClaim != "email":
		prefix = o.IssuerURL + "#" // names of other claims are unique for the issuer alone
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
			return authenticator, errors.New("--oidc-ca-file is empty")
		}
		authenticator.Issuer.CertificateAuthority = string(pem)
	}
	return authenticator, nil
}
