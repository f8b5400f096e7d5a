// Package trust has the flags that say how the certificate of a webhook is verified, the HTTP client with that
// verification, and the remedies for its errors. [Options] is the way in.
//
// Don't use the package for connections to an API server: the kubeconfig says how these are verified.
package trust

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// Options are the flags that say how the certificate of a webhook is verified.
type Options struct {
	ca       string
	insecure bool
}

// AddFlags adds --ca and --insecure-skip-tls-verify.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ca, "ca", "", "`FILE` with the authority of the webhook's certificate, in PEM. By default, the system's authorities.")
	flags.BoolVar(&o.insecure, "insecure-skip-tls-verify", false, "Accept any certificate of the webhook.")
}

// Authorities reads the authorities of the file that --ca names.
func Authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca %s: must have certificates in PEM", file)
	}
	return authorities, nil
}

// CallTimeout limits a call of a webhook. API servers allow no timeout above 30 seconds.
const CallTimeout = 30 * time.Second

// Client returns an HTTP client that verifies the webhook's certificate by the flags.
func (o *Options) Client() (*http.Client, error) {
	config := &tls.Config{InsecureSkipVerify: o.insecure} //nolint:gosec // the user asks for it by a flag
	if o.ca != "" {
		var err error
		if config.RootCAs, err = Authorities(o.ca); err != nil {
			return nil, err
		}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}, Timeout: CallTimeout}, nil
}

// Explain adds the cause and a remedy to the error of a call of a webhook, if it recognizes the cause. Other errors
// stay as they are.
func (o *Options) Explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown) && o.ca == "":
		return fmt.Errorf("%w: give --ca, the file with the authority of the webhook's certificate", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: --ca %s has another authority: give the file with the authority of the webhook's certificate", err, o.ca)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: the webhook serves plain HTTP: give --url http://… for this call, or serve the webhook over HTTPS, which API servers need", err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the webhook closed the connection without a response: see the log of the webhook", err)
	}
	return err
}
