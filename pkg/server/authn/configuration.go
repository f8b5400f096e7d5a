package authn

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
)

// configuration returns the AuthenticationConfiguration of the file of --authentication-config, and the file's content
// as data. Without the file, the configuration is made from the other flags.
func (o *Options) configuration() (config *apiserver.AuthenticationConfiguration, data []byte, err error) {
	if o.ConfigFile != "" {
		if data, err = os.ReadFile(o.ConfigFile); err == nil {
			config, err = o.parse(data)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--authentication-config %s: %w", o.ConfigFile, err)
		}
		return config, data, nil
	}
	config = &apiserver.AuthenticationConfiguration{Anonymous: o.anonymous()}
	if o.OIDC.IssuerURL == "" {
		// Without issuers, there is nothing to validate. Return before the validation, because its CEL environment
		// takes long to make.
		return config, nil, nil
	}
	issuer, err := o.OIDC.jwtAuthenticator()
	if err != nil {
		return nil, nil, err
	}
	config.JWT = []apiserver.JWTAuthenticator{issuer}
	return config, nil, inFlags(validateConfiguration(o, config)).ToAggregate()
}

// parse parses the content of the file of --authentication-config.
func (o *Options) parse(data []byte) (*apiserver.AuthenticationConfiguration, error) {
	config, err := decode(data)
	if err != nil {
		return nil, err
	}
	if config.Anonymous != nil && o.anonymousGiven() {
		return nil, errors.New("the file has the field anonymous: leave the field or --anonymous-auth out")
	}
	if config.Anonymous == nil {
		config.Anonymous = o.anonymous()
	}
	return config, validateConfiguration(o, config).ToAggregate()
}

func decode(data []byte) (*apiserver.AuthenticationConfiguration, error) {
	if len(data) == 0 {
		return nil, errors.New("the file is empty: must have an AuthenticationConfiguration")
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	object, err := runtime.Decode(decoder, data)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("must be an AuthenticationConfiguration, got %T", object)
	}
	return config, nil
}
