package authn

import (
	"crypto"
	"errors"
	"fmt"

	"github.com/miniapi-dev/miniapi/pkg/server/authn/serviceaccounttokens"
)

// serviceAccountTokens returns the generator of tokens and the keys that verify them. The keys come from the key files.
// The signing key is added if there are no key files, or if the signing key isn't from a file.
func (o *Options) serviceAccountTokens(own crypto.Signer) (*serviceaccounttokens.TokenGenerator, serviceaccounttokens.KeySet, error) {
	if len(o.ServiceAccounts.Issuers) == 0 {
		return nil, nil, errors.New("--service-account-issuer: must be set, as in https://kubernetes.default.svc")
	}
	var signer *serviceaccounttokens.Signer
	var err error
	if file := o.ServiceAccounts.SigningKeyFile; file != "" {
		if signer, err = serviceaccounttokens.LoadSigner(file); err != nil {
			return nil, nil, fmt.Errorf("--service-account-signing-key-file %s: %w", file, err)
		}
	} else if own != nil {
		if signer, err = serviceaccounttokens.NewSigner(own); err != nil {
			return nil, nil, err
		}
	} else if signer, err = serviceaccounttokens.GenerateSigner(); err != nil {
		return nil, nil, err
	}
	keys, err := serviceaccounttokens.LoadKeySet(o.ServiceAccounts.KeyFiles...)
	if err != nil {
		return nil, nil, fmt.Errorf("--service-account-key-file: %w", err)
	}
	// If the signing key isn't from a file, no key file has its public key, so add it.
	if len(keys) == 0 || o.ServiceAccounts.SigningKeyFile == "" {
		keys = keys.With(signer.Public())
	}
	return &serviceaccounttokens.TokenGenerator{
		Issuer:           o.ServiceAccounts.Issuers[0],
		Signer:           signer,
		Audiences:        o.audiences(),
		MaxExpiration:    o.ServiceAccounts.MaxExpiration,
		ExtendExpiration: o.ServiceAccounts.ExtendExpiration,
	}, keys, nil
}
