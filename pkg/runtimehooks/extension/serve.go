package extension

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// shutdownGrace is the time for which running requests may go on when the server stops.
const shutdownGrace = 30 * time.Second

// TLS has the files with the server's certificate and with the certificate authorities of its callers. The server reads
// the files for each new connection, so a change takes effect without a restart.
type TLS struct {
	// CertFile and KeyFile have the serving certificate and its key, in PEM.
	CertFile, KeyFile string
	// ClientCAFile has the certificate authorities of callers' client certificates. If it is "", callers need no
	// certificate.
	ClientCAFile string
}

// Serve serves a handler on a listener by HTTPS until ctx ends. It returns when the running requests have ended. If
// they don't end within 30 seconds, it returns an error.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, files TLS) error {
	if _, err := files.config(nil); err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: files.config, NextProtos: nextProtos},
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		err := server.Shutdown(grace)
		if err != nil {
			err = fmt.Errorf("stopping the hooks on %s, with %s for running requests: %w", listener.Addr(), shutdownGrace, err)
		}
		stopped <- err
	})
	err := server.ServeTLS(listener, "", "")
	if !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serving hooks on %s: %w", listener.Addr(), err)
	}
	return <-stopped
}

// nextProtos are the HTTP protocols that the server offers, the preferred one first.
var nextProtos = []string{"h2", "http/1.1"}

// config returns a TLS configuration with the present content of the files. The server calls it for each new
// connection.
func (f TLS) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("serving certificate %q with key %q: %w", f.CertFile, f.KeyFile, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: nextProtos}
	if f.ClientCAFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(f.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("certificate authorities of callers: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificate authorities of callers: %q must have certificates in PEM", f.ClientCAFile)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}
