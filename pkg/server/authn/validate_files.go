package authn

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// ValidateFiles checks the files that the flags name, and the content of the authentication configuration.
func (o *Options) ValidateFiles() []error {
	errs := []error{
		files.Authorities("client-ca-file", o.ClientCAFile),
		files.Authorities("requestheader-client-ca-file", o.RequestHeader.ClientCAFile),
		o.distinctProxies(),
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

// distinctProxies returns an error if one authority issues the certificates of clients and of proxies, and no name
// distinguishes the proxies. A proxy sets the user of a request by headers, so each client could act as any user.
func (o *Options) distinctProxies() error {
	clientFile, proxyFile := o.ClientCAFile, o.RequestHeader.ClientCAFile
	if clientFile == "" || proxyFile == "" || len(o.RequestHeader.AllowedNames) > 0 || !files.Rereadable(clientFile) || !files.Rereadable(proxyFile) {
		return nil
	}
	clients, clientErr := certutil.CertsFromFile(clientFile)
	proxies, proxyErr := certutil.CertsFromFile(proxyFile)
	if clientErr != nil || proxyErr != nil {
		return nil //nolint:nilerr // files.Authorities returns the error with the flag
	}
	if !slices.ContainsFunc(proxies, func(proxy *x509.Certificate) bool { return slices.ContainsFunc(clients, proxy.Equal) }) {
		return nil
	}
	return fmt.Errorf("--requestheader-client-ca-file %s and --client-ca-file %s have a certificate in common: "+
		"--requestheader-allowed-names must name the proxies, because otherwise each client could act as any user", proxyFile, clientFile)
}
