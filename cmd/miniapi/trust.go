package main

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

// trustOptions are the flags that say how the certificate of a webhook is verified.
type trustOptions struct {
	ca       string
	insecure bool
}

func (o *trustOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ca, "ca", "", "`File` with the authority of the webhook's certificate, in PEM. By default, the system's authorities.")
	flags.BoolVar(&o.insecure, "insecure-skip-tls-verify", false, "Accept any certificate of the webhook.")
}

// callTimeout limits a call of a webhook. API servers allow no timeout above 30 seconds.
const callTimeout = 30 * time.Second

// client returns an HTTP client that verifies the webhook's certificate by the flags.
func (o *trustOptions) client() (*http.Client, error) {
	config := &tls.Config{InsecureSkipVerify: o.insecure}
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca %s: must have certificates in PEM", o.ca)
		}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}, Timeout: callTimeout}, nil
}

// explain adds the cause and a remedy to the error of a call of a webhook, if it recognizes the cause. Other errors
// stay as they are.
func (o *trustOptions) explain(err error) error {
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
