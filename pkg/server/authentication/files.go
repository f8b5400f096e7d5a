package authentication

import (
	"cmp"
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// ValidateFiles checks the files that the options name.
func (o *Options) ValidateFiles() []error {
	errs := []error{
		files.Authorities("client-ca-file", o.ClientCAFile),
		files.Authorities("requestheader-client-ca-file", o.RequestHeader.ClientCAFile),
		files.Readable("oidc-ca-file", o.OIDC.CAFile),
		files.Readable("token-auth-file", o.TokenFile),
		files.Readable("authentication-config", o.ConfigFile),
		files.Readable("authentication-token-webhook-config-file", o.Webhook.ConfigFile),
		files.Readable("service-account-signing-key-file", o.ServiceAccounts.SigningKeyFile),
	}
	for _, file := range o.ServiceAccounts.KeyFiles {
		errs = append(errs, files.Readable("service-account-key-file", file))
	}
	// Wrong flags and missing files also cause errors in the content of the configuration. To report each error
	// only once, check the content only if there are no other errors.
	source, wrong := cmp.Or(o.ConfigFile, o.OIDC.CAFile), append(o.Validate(), errs...)
	if (source == "" || files.Rereadable(source)) && errors.Join(wrong...) == nil {
		errs = append(errs, o.ValidateConfiguration())
	}
	return errs
}
